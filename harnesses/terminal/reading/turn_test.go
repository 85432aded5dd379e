package reading

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/record"
)

// proven returns a bench, a Reader under test, whose record has already reported a whole turn.
func proven(t *testing.T) *bench {
	t.Helper()
	b := newBench(t).shows(casttest.Idle).wants(coleo.Idle, "composer").shows(casttest.WorkClaim)
	b.reports(`{"event":"Prompt","turn":"1","prompt":"before"}`)
	b.records(record.Prompt, "before", "").records(record.End, "", record.Finished)
	return b.after(2*lapseAfter).wants(coleo.Idle, "composer")
}

// submits tells the Reader that the agent CLI has taken a submitted prompt, while the screen shows no work.
func (b *bench) submits() *bench {
	b.now = b.now.Add(time.Second)
	b.r.Submitted(Submission{Text: "now", Time: b.now}, b.now)
	b.r.PromptDecided()
	b.r.ExpectNoWork()
	return b
}

// After a submit, the screen shows a composer. Neither the hook nor the record reports work, because the agent
// CLI has not even recorded the prompt. The arm must still not be idle before a sign shows the end of this
// turn.
func TestIdleNeedsASignOfTheEndOfThisTurn(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(*bench){
		"the record": func(b *bench) {
			b.records(record.Prompt, "now", "").records(record.End, "", record.Finished)
		},
		"the hook": func(b *bench) {
			b.reports(`{"event":"Prompt","turn":"2","prompt":"now"}`)
			b.reports(`{"event":"Stop","turn":"2","answer":"done"}`)
		},
		"a hook that names": func(b *bench) { b.reports(`{"event":"Both","said":["now"],"answer":"done"}`) },
		"an escape":         func(b *bench) { b.shows(casttest.WorkClaim + "\x1b]7501;state=idle\x07") },
		"a may-be":          func(b *bench) { b.enters(record.Entry{Kind: record.Answer, MayEnd: true, Time: b.now}) },
		"interrupted":       func(b *bench) { b.r.LapseClaims() },
		"lost":              func(b *bench) { b.r.ReportPromptLost(b.now, "", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := proven(t).submits().after(30*time.Second).wants(coleo.Processing, "submitted")
			// All of these report the end of the previous turn, so they must not count as the end of this one.
			b.enters(record.Entry{Kind: record.End, Time: b.now.Add(-time.Minute)})
			b.reports(`{"event":"Stop","turn":"1","answer":"done"}`)
			b.reports(`{"event":"Both","said":["before"],"answer":"done"}`)
			b.shows("\x1b]7501;state=idle\x07").after(time.Second).wants(coleo.Processing, "submitted")
			if ends(b); b.after(time.Second).r.Unproven() != "" {
				t.Errorf("unproven: %s", b.r.Unproven())
			}
			b.wants(coleo.Idle, "composer")
		})
	}
}

// A quick agent CLI can end the turn of a prompt before Coleo has called Submitted. This end must count. The
// record may report the end of the previous turn at the same time. That end must not count.
func TestATurnThatEndsWhileItsKeyIsPressedHasEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want coleo.State
	}{
		"the record names this prompt": {"now", coleo.Idle},
		"only the turn before ends":    {"", coleo.Processing},
	} {
		t.Run(name, func(t *testing.T) {
			b := proven(t)
			sent := b.now
			b.now = b.now.Add(time.Second)
			b.r.HoldEntries()
			if b.records(record.End, "", record.Finished); c.text != "" {
				b.records(record.Prompt, c.text, "").records(record.End, "", record.Finished)
			}
			b.r.Submitted(Submission{Text: "now", Time: sent}, b.now)
			b.r.PromptDecided()
			b.r.ExpectNoWork()
			if b.after(3 * time.Second); b.r.Reading().State != c.want || b.r.Unproven() != "" {
				t.Errorf("Reading = %s (rule %q, %s), want %s", b.r.Reading().State, b.r.Reading().Rule, b.r.Unproven(), c.want)
			}
			if notes := b.notesOf(coleo.ChangeTurn); len(notes) != 1 {
				t.Errorf("turns by hand: %q, want the one before", notes)
			}
		})
	}
}

// The Reader holds back entries of the record while Coleo presses the submit key. These entries must count
// even if nothing was submitted.
func TestEntriesThatWereKeptAreAddedWhenNothingWasSubmitted(t *testing.T) {
	t.Parallel()
	b := proven(t).submits()
	b.r.HoldEntries()
	b.records(record.Prompt, "now", "").records(record.End, "", record.Finished)
	b.after(time.Second).wants(coleo.Processing, "submitted").r.ReleaseEntries(b.now)
	b.after(time.Second).wants(coleo.Idle, "composer")
}

// A command of the agent CLI, such as /compact, may leave no trace in the record. So the arm must become idle
// without a sign that the command has ended.
func TestACommandNeedsNoSignOfItsEnd(t *testing.T) {
	t.Parallel()
	b := proven(t)
	b.r.Submitted(Submission{Text: "/compact", Command: true, Time: b.now}, b.now)
	b.r.PromptDecided()
	b.r.ExpectNoWork()
	b.after(time.Second).wants(coleo.Idle, "composer")
}

// If no sign shows that the turn has ended, the state idle must be marked as unproven. A later sign must
// remove this mark.
func TestAnIdleThatNothingProvesIsCalledSo(t *testing.T) {
	t.Parallel()
	b := proven(t).submits().after(quietAfter-2*time.Second).wants(coleo.Processing, "submitted")
	b.shows("\x1b[H\x1b[2Ka word more\r\n\x1b[2K> \r\n─────────\x1b[2;3H").
		after(quietAfter-time.Second).wants(coleo.Processing, "submitted")
	b.after(2*time.Second).wants(coleo.Idle, coleo.RuleUnprovenIdle)
	if b.r.Unproven() == "" || b.r.reading.Detail == "" {
		t.Error("it does not say why")
	}
	b.records(record.End, "", record.Finished).after(time.Second).wants(coleo.Idle, "composer")
	if why := b.r.Unproven(); why != "" {
		t.Errorf("it is still unproven: %s", why)
	}
}

// The screen is idle, but the hook or an escape sequence has reported work. If the screen stays unchanged,
// this report must stop counting after quietAfter. Idle must then be marked as unproven.
func TestAClaimInATurnLapsesByASignOrInSilence(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(*bench){
		"osc7501 working": func(b *bench) { b.shows(casttest.WorkClaim) },
		"hook Tool":       func(b *bench) { b.reports(`{"event":"Tool"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t).shows(casttest.Idle).wants(coleo.Idle, "composer").submits()
			claim(b)
			b.after(quietAfter-time.Second).wants(b.r.reading.State, name)
			b.after(2*time.Second).wants(coleo.Idle, coleo.RuleUnprovenIdle)
			claim(b.submits()) // the next turn must not count as unproven
			b.after(2*lapseAfter).wants(b.r.reading.State, name)
			b.records(record.End, "", record.Interrupted).after(lapseAfter+time.Second).wants(coleo.Idle, "composer")
		})
	}
}

// On some screens, an answer that grows above the composer is the only sign of work. The arm must not be idle
// before the answer stops growing.
func TestAnAnswerThatGrowsIsWork(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).wants(coleo.Idle, "composer")
	b.r.Submitted(Submission{Text: "now", Time: b.now}, b.now)
	b.shows(casttest.Busy).wants(coleo.Processing, "busy")
	b.r.PromptDecided()
	for n := range 40 {
		for p := []byte("\x1b[2J\x1b[H" + strings.Repeat("x", n+1) + "\r\n> \r\n───────\x1b[2;1H"); len(p) > 0; {
			fed, _ := b.r.Feed(p, b.now)
			p = p[fed:]
		}
		b.after(80*time.Millisecond).wants(coleo.Processing, "busy") // settle_ms is 100
	}
	b.after(100*time.Millisecond).wants(coleo.Idle, "composer")
}

// If a screen shows no sign of work in a whole turn, the Reader must report once that the screen is blind.
// After a turn with a sign of work, the screen must no longer count as blind.
func TestAScreenThatNeverShowsWorkIsCalledBlind(t *testing.T) {
	t.Parallel()
	b := proven(t)
	turn := func(shows string, lasts time.Duration) *bench {
		b.submits().records(record.Prompt, "do it", "").shows(shows).after(lasts)
		return b.shows(casttest.Idle).records(record.End, "", record.Finished).after(time.Second)
	}
	blind := func() bool { return b.r.Explain(b.now).Blind != "" }
	if turn("", blindAfter/2); blind() {
		t.Error("a short turn makes it blind")
	}
	turn("", 2*blindAfter)
	if turn("", 2*blindAfter); !blind() || len(b.notesOf(coleo.ChangeBlind)) != 1 {
		t.Errorf("blind: %v, and the notes are %q", blind(), b.notesOf(coleo.ChangeBlind))
	}
	if turn(casttest.Busy, 2*blindAfter); blind() {
		t.Error("it is blind although it shows work")
	}
	if turn("", 2*blindAfter); !blind() || len(b.notesOf(coleo.ChangeBlind)) != 2 {
		t.Errorf("blind again: %v, and the notes are %q", blind(), b.notesOf(coleo.ChangeBlind))
	}
}

// If somebody other than Coleo begins a turn, the Reader must report the turn before the states of this turn.
// It must not report the turns of Coleo's own prompts, or of earlier entries in the record.
func TestATurnThatSomebodyElseBeginsIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).wants(coleo.Idle, "composer")
	b.enters(record.Entry{Kind: record.Prompt, Text: "of an earlier host agent", Time: b.now.Add(-time.Hour)})
	b.records(record.End, "", record.Finished).submits()
	b.enters(record.Entry{Kind: record.Prompt, Text: "now", ByUser: true, Time: b.now})
	b.records(record.End, "", record.Finished).after(time.Second).wants(coleo.Idle, "composer")
	if len(b.notesOf(coleo.ChangeTurn)) != 0 {
		t.Fatalf("turns: %q", b.notesOf(coleo.ChangeTurn))
	}
	b.changes = nil
	for _, e := range []record.Entry{ // these entries come at the same time
		{Kind: record.Prompt, Text: "a task has ended", Time: b.now}, {Kind: record.Answer, Text: "so it has", Time: b.now},
		{Kind: record.End, Ending: record.Finished, Time: b.now},
	} {
		b.r.AddEntry(e, b.now)
	}
	b.after(time.Second).wants(coleo.Idle, "composer")
	b.records(record.End, "", record.Finished).enters(record.Entry{Kind: record.Prompt, Text: "by hand", ByUser: true,
		Time: b.now})
	var got []string
	for _, c := range b.changes {
		if c.Kind != coleo.ChangeTurn && c.Kind != coleo.ChangeState {
			continue
		}
		got = append(got, strings.TrimSpace(string(c.Kind)+" "+string(c.Reading.State)+" "+string(c.Origin)))
	}
	want := []string{"turn idle self", "state processing", "state idle", "turn idle hand", "state processing"}
	if !slices.Equal(got, want) {
		t.Errorf("told: %q, want %q", got, want)
	}
}

// The screen shows the prompt in its transcript, but no work on it yet. The arm must not be idle before a sign
// shows that the turn has begun.
func TestIdleNeedsASignOfTheBeginningOfThisTurn(t *testing.T) {
	t.Parallel()
	begins := func(expected bool) *bench {
		b := newBench(t).shows(casttest.Idle).wants(coleo.Idle, "composer")
		if expected {
			b.r.ExpectRecord()
		}
		b.r.Submitted(Submission{Text: "now", Time: b.now}, b.now)
		b.r.PromptDecided()
		return b.after(2 * time.Second)
	}
	begins(false).wants(coleo.Idle, "composer")
	begins(true).wants(coleo.Processing, "submitted").after(beginAfter).wants(coleo.Idle, coleo.RuleUnprovenIdle)
	begins(true).shows(casttest.Busy).wants(coleo.Processing, "busy").shows(casttest.Idle).wants(coleo.Idle, "composer")
	begins(true).records(record.Prompt, "now", "").wants(coleo.Processing, "record prompt").
		records(record.End, "", record.Finished).after(time.Second).wants(coleo.Idle, "composer")
	b := begins(true)
	b.r.Submitted(Submission{Text: "/compact", Command: true, Time: b.now}, b.now)
	b.r.PromptDecided()
	b.after(2*time.Second).wants(coleo.Idle, "composer")
}

// A prompt that was reported as lost can arrive later, for example after a dialog was answered. Its
// turn must be reported once.
func TestALostPromptThatArrivesIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).wants(coleo.Idle, "composer")
	b.r.Submitted(Submission{Text: "now", Time: b.now}, b.now)
	b.r.ReportPromptLost(b.now, "lost", nil)
	b.r.PromptDecided()
	b.after(time.Second).records(record.Prompt, "now", "").records(record.End, "", record.Finished)
	b.records(record.Prompt, "now", "")
	var origins []coleo.Origin
	for _, c := range b.changes {
		if c.Kind == coleo.ChangeTurn {
			origins = append(origins, c.Origin)
		}
	}
	if !slices.Equal(origins, []coleo.Origin{coleo.OriginLate}) {
		t.Errorf("the turns that were told are %q, want one that is late", origins)
	}
}

// Work in the background must not keep an arm from being idle. It must be named beside the idle
// state.
func TestBackgroundWorkIsNamedBesideIdle(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, "background = 'still running$'\n"+casttest.PlainSpec).shows(casttest.Idle).submits()
	status := func(message string) *bench {
		return b.shows("\x1b]7501;state=working:msg=" + base64.StdEncoding.EncodeToString([]byte(message)) + "\x07")
	}
	status("thinks").after(time.Second).wants(coleo.Processing, "osc7501 working")
	status("1 shell still running").after(time.Second).wants(coleo.Idle, "composer")
	if got := b.r.Reading().Background; got != "1 shell still running" {
		t.Errorf("in the background: %q", got)
	}
	b.shows("\x1b]7501;state=done\x07").after(time.Second).wants(coleo.Idle, "composer")
	if got := b.r.Reading().Background; got != "" {
		t.Errorf("in the background: %q, want nothing", got)
	}
}

// A turn may end before the screen shows its work. Coleo then waits for work for begin_ms before the arm is
// idle. If the record or the hook has named the turn's prompt, the arm must be idle without this wait.
func TestATurnThatIsNamedNeedNotBeSeenAtWork(t *testing.T) {
	t.Parallel()
	slow := strings.Replace(casttest.PlainSpec, "[timing]\n", "[timing]\nbegin_ms = 30000\n", 1)
	for name, report := range map[string]func(*bench){
		"nobody": func(*bench) {},
		"the record": func(b *bench) {
			b.records(record.Prompt, "now", "").records(record.End, "", record.Finished)
		},
		"the hook": func(b *bench) {
			b.reports(`{"event":"Prompt","turn":"2","prompt":"now"}`)
			b.reports(`{"event":"Stop","turn":"2","answer":"done"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBenchOf(t, slow).shows(casttest.Idle).wants(coleo.Idle, "composer")
			b.r.Submitted(Submission{Text: "now", Time: b.now}, b.now)
			b.r.PromptDecided()
			want := coleo.Idle
			if report(b); name == "nobody" {
				want = coleo.Processing
			}
			if got := b.after(time.Second).r.Reading().State; got != want {
				t.Errorf("it reads %s, want %s", got, want)
			}
		})
	}
}

// The screen has settled as idle, while the record still reports work. When the record then reports the end of
// the turn, the arm must be idle at once. If the calm may be a pause between two turns, the screen must settle
// once more before the arm is idle.
func TestAScreenThatHasSettledIsIdleWithTheSignOfTheEnd(t *testing.T) {
	t.Parallel()
	const blankLine = "\x1b[2J\x1b[Hanother row\r\n> \r\n───────\x1b[2;3H"
	for name, tt := range map[string]struct {
		busy  bool // the prompt is submitted during another turn
		shows []string
		end   record.Entry
		want  coleo.State
	}{
		"work was seen":    {false, []string{casttest.Busy, casttest.Idle}, record.Entry{Kind: record.End}, coleo.Idle},
		"no work was seen": {false, nil, record.Entry{Kind: record.End}, coleo.Processing},
		"an answer ends it": {false, []string{casttest.Busy, casttest.Idle}, record.Entry{Kind: record.Answer, MayEnd: true},
			coleo.Idle},
		"another turn ran": {true, []string{casttest.Busy, casttest.Idle}, record.Entry{Kind: record.End}, coleo.Processing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := proven(t)
			if tt.busy {
				b.shows(casttest.Busy).wants(coleo.Processing, "busy")
			}
			b.submits().records(record.Prompt, "now", "")
			for _, output := range tt.shows {
				b.shows(output)
			}
			tt.end.Time = b.after(time.Second).now
			if b.enters(tt.end); b.r.reading.State != tt.want {
				t.Errorf("with the sign it reads %s, want %s", b.r.reading.State, tt.want)
			}
			b.after(time.Second).wants(coleo.Idle, "composer")
		})
	}
	b := proven(t).submits().records(record.Prompt, "now", "").shows(casttest.Busy).shows(casttest.Idle).after(time.Second)
	for p := []byte(blankLine); len(p) > 0; {
		n, _ := b.r.Feed(p, b.now)
		p = p[n:]
	}
	b.after(30*time.Millisecond).records(record.End, "", record.Finished).wants(coleo.Processing, "record prompt")
	b.after(time.Second).wants(coleo.Idle, "composer")
}
