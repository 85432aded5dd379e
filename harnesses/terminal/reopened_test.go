package terminal

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
	"coleo.dev/record"
)

// setClosedStage returns an idle program whose session is closed, its empty record, and a time just after the
// program's start.
func setClosedStage(t *testing.T) (*stage, *silentRecord, time.Time) {
	t.Helper()
	st, s, silent := setRecordStage(t)
	st.say(s, []byte(composing("")))
	st.await("it is idle", func() bool { return s.State().State == coleo.Idle })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return st, silent, s.facts.Started.Add(time.Millisecond)
}

// A host agent that was restarted reads the whole record. While it does so, an agent CLI whose turns have all
// ended must not count as working.
func TestAnIdleAgentCLIDoesNotWorkWhenItsSessionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	st, silent, at := setClosedStage(t)
	for range 3 {
		at = at.Add(time.Millisecond)
		silent.write(record.Entry{Kind: record.Prompt, Text: "say hello", ByUser: true, Time: at},
			record.Entry{Kind: record.Answer, Text: "hello", Time: at},
			record.Entry{Kind: record.End, Ending: record.Finished, Time: at})
	}
	s := st.attach()
	defer s.Close()
	st.await("it is idle again", func() bool { return s.State().State == coleo.Idle })
	got := slices.DeleteFunc(toldOf(t, s), func(kind string) bool { return kind == "" })
	if !slices.Equal(got, []string{"initializing", "idle"}) {
		t.Errorf("the session told %q, want initializing and idle", got)
	}
}

// An agent CLI in a turn must count as working as soon as its session is opened again.
func TestAnAgentCLIInATurnWorksWhenItsSessionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	st, silent, at := setClosedStage(t)
	silent.write(record.Entry{Kind: record.Prompt, Text: "first", ByUser: true, Time: at},
		record.Entry{Kind: record.End, Ending: record.Finished, Time: at},
		record.Entry{Kind: record.Prompt, Text: "second", ByUser: true, Time: at.Add(time.Millisecond)})
	s := st.attach()
	defer s.Close()
	st.await("it works by its record", func() bool { return s.State().Rule == "record prompt" })
	if got := toldOf(t, s); slices.Contains(got, "idle") {
		t.Errorf("the session told %q, want no idle", got)
	}
}

// The hook can report something just when a picture has become complete. The picture must still be read,
// because it can be a dialog, after which no more output comes.
func TestAReportDoesNotReplaceTheLookAtACompletePicture(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("stage.toml", []byte(stageSpec))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r := reading.New(spec, 40, 8, now, func(coleo.Change) {})
	none := &recordFollower{}
	l := newLive(r, func() []hook.Line { return nil }, none, func(recordEntries, coleo.Reading) {})
	r.Feed([]byte(composing("")), now)
	if wait := l.onReport(now); wait <= 0 || r.Verdict().State != "" {
		t.Fatalf("half a picture was read as %q", r.Verdict().State)
	}
	l.onReport(now.Add(time.Second))
	if got := r.Verdict().State; got != coleo.Idle {
		t.Errorf("after a report, the complete picture reads as %q, want idle", got)
	}
}

// An agent CLI can report a prompt to its hook, and end at once. The report must still count, because it proves
// that the agent CLI has taken the prompt.
func TestAReportJustBeforeTheEndCounts(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("bench.toml", []byte(casttest.PlainSpec))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	line := hook.Line{Time: now, Payload: map[string]json.RawMessage{"event": []byte(`"Prompt"`),
		"prompt": []byte(`"do it"`)}}
	r := reading.New(spec, 40, 8, now, func(coleo.Change) {})
	l := newLive(r, func() []hook.Line { return []hook.Line{line} }, &recordFollower{},
		func(recordEntries, coleo.Reading) {})
	if l.end(coleo.RuleProcess, 1, "exit 1"); !r.PromptReported("do it", now) {
		t.Error("the report of the prompt is lost")
	}
	if got := r.Reading().State; got != coleo.Dead {
		t.Errorf("it reads %s, want dead", got)
	}
}
