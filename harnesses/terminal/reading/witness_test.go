package reading

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
	"coleo.dev/pty"
)

// bench is a Reader with a fake clock. Its fake agent CLI shows a composer at first, and then the
// pictures of the test.
type bench struct {
	t       *testing.T
	r       *Reader
	now     time.Time
	changes []coleo.Change
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOf(t, casttest.PlainSpec)
}

// newBenchOf is newBench with another description.
func newBenchOf(t *testing.T, description string) *bench {
	t.Helper()
	spec, err := rules.ParseSpec("bench", []byte(description))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, now: time.Unix(1000, 0)}
	b.r = New(spec, 60, 12, b.now, func(c coleo.Change) { b.changes = append(b.changes, c) })
	b.r.prompt.none = true
	return b
}

// shows writes output, and waits until the picture counts as complete.
func (b *bench) shows(output string) *bench {
	for p := []byte(output); len(p) > 0; {
		n, _ := b.r.Feed(p, b.now)
		p = p[n:]
	}
	return b.after(200 * time.Millisecond)
}

// after advances the clock. On the way, it makes the Reader look at the screen whenever the Reader has asked
// for a look.
func (b *bench) after(d time.Duration) *bench {
	end := b.now.Add(d)
	for b.now.Before(end) {
		b.now = b.now.Add(min(max(b.r.Look(b.now), time.Millisecond), end.Sub(b.now)))
	}
	b.r.Look(b.now)
	return b
}

// reports passes a line of the hook's file to the Reader.
func (b *bench) reports(payload string) *bench {
	b.t.Helper()
	l := hook.Line{Time: b.now}
	if err := json.Unmarshal([]byte(payload), &l.Payload); err != nil {
		b.t.Fatal(err)
	}
	b.r.AddReport(l, b.now)
	b.r.Judge(b.now)
	return b
}

func (b *bench) wants(state coleo.State, rule string) *bench {
	b.t.Helper()
	if got := b.r.reading; got.State != state || got.Rule != rule {
		b.t.Errorf("it reads %s by %q, want %s by %q", got.State, got.Rule, state, rule)
	}
	return b
}

func (b *bench) notesOf(kind coleo.ChangeKind) (notes []string) {
	for _, c := range b.changes {
		if c.Kind == kind {
			notes = append(notes, c.Note)
		}
	}
	return notes
}

func TestEachVoiceMakesAReadingMoreCautious(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]struct {
		state coleo.State
		rule  string
	}{
		casttest.WorkClaim:                                   {coleo.Processing, "osc7501 working"},
		"\x1b]7501;state=blocked\x07":                        {coleo.WaitingApproval, "osc7501 blocked"},
		"\x1b]7501;state=idle\x07":                           {coleo.Idle, "composer"},
		"\x1b]26;CodeAgent=x;Status=running;Detail=eA==\x07": {coleo.Processing, "osc26 running"},
		"\x1b]26;Status=cnVubmluZw==\x07":                    {coleo.Processing, "osc26 running"},
		"\x1b]26;Status=awaiting-approval\x07":               {coleo.WaitingApproval, "osc26 awaiting-approval"},
		"\x1b]26;Status=awaiting-input\x07":                  {coleo.WaitingApproval, "osc26 awaiting-input"},
		"\x1b]26;Status=finished\x07":                        {coleo.Idle, "composer"},
		"\x1b]26;TaskProgress=1/4\x07":                       {coleo.Idle, "composer"},
		"\x1b]9;4;1;50\x07":                                  {coleo.Processing, "osc9;4 progress"},
		"\x1b]9;4;3\x07":                                     {coleo.Processing, "osc9;4 busy"},
		"\x1b]9;4;1;50\x07\x1b]9;4;0\x07":                    {coleo.Idle, "composer"},
		"\x1b]9;4;x\x07\x1b]26;\x07\x1b]7501;\x07":           {coleo.Idle, "composer"},
	} {
		t.Run(fmt.Sprintf("%q", output), func(t *testing.T) {
			t.Parallel()
			b := newBench(t).shows(casttest.Idle).wants(coleo.Idle, "composer")
			b.shows(output).wants(want.state, want.rule)
			b.after(lapseAfter).wants(coleo.Idle, "composer")
		})
	}
}

func TestTheHookMakesAReadingMoreCautious(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle)
	b.reports(`{"event":"Prompt","prompt":"do it"}`).wants(coleo.Processing, "hook Prompt")
	b.reports(`{"event":"Tool","tool":"Bash","input":{"command":"ls"}}`).wants(coleo.Executing, "hook Tool")
	b.reports(`{"event":"Ask","kind":"other"}`).wants(coleo.Executing, "hook Tool")
	b.reports(`{"event":"Ask","kind":"permission"}`).wants(coleo.WaitingApproval, "hook Ask")
	b.reports(`{"event":"unheard of"}`).reports(`{}`).wants(coleo.WaitingApproval, "hook Ask")
	b.shows(casttest.Busy).reports(`{"event":"Stop","answer":"done"}`).after(time.Minute).wants(coleo.Processing,
		"busy")
	b.shows(casttest.Idle).wants(coleo.Idle, "composer")
}

// The last report of a hook can be wrong. A hook does not report some events, such as an interrupt, and
// somebody else can write to its file. So the report must stop counting if the screen contradicts it for
// lapseAfter.
func TestAClaimLapsesThatTheScreenContradicts(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle)
	b.reports(`{"event":"Tool"}`)
	b.after(lapseAfter-10*time.Millisecond).wants(coleo.Executing, "hook Tool")
	if notes := b.notesOf(coleo.ChangeDisagreement); len(notes) != 1 ||
		notes[0] != "hook said Tool while the screen read idle" {
		t.Errorf("disagreements %q", notes)
	}
	b.after(150*time.Millisecond).wants(coleo.Idle, "composer")
	if notes := b.notesOf(coleo.ChangeLapse); len(notes) != 1 {
		t.Errorf("lapses %q", notes)
	}
	x := b.r.Explain(b.now)
	if w := x.Witnesses[1]; w.Name != "hook" || !w.Lapsed || w.State != coleo.Executing {
		t.Errorf("witness %+v", w)
	}
	b.reports(`{"event":"Prompt","prompt":"next"}`).wants(coleo.Idle, "composer")
	b.after(forgiveAfter)
	b.reports(`{"event":"Prompt","prompt":"next"}`).wants(coleo.Processing, "hook Prompt")
}

func TestAnInterruptEndsAClaimAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).shows(casttest.WorkClaim).reports(`{"event":"Tool"}`)
	for _, v := range b.r.witnesses() {
		v.endClaim()
	}
	b.after(time.Second).wants(coleo.Idle, "composer")
	b.reports(`{"event":"Prompt"}`).wants(coleo.Processing, "hook Prompt")
}

// The program reports a state that the screen contradicts. Such a report counts only for a limited time. The
// time must not become longer if the program repeats the report, or withdraws it and makes it again.
func TestAForgedWordCannotHoldAnArm(t *testing.T) {
	t.Parallel()
	for _, again := range []string{casttest.WorkClaim, "\x1b]7501;state=idle\x07" + casttest.WorkClaim,
		"\x1b]7501;state=blocked\x07" + casttest.WorkClaim} {
		b := newBench(t).shows(casttest.Idle)
		var held time.Duration
		for range 20 { // ten seconds in all
			b.shows(again).after(300 * time.Millisecond)
			if b.r.reading.State != coleo.Idle {
				held += 500 * time.Millisecond
			}
		}
		if held > lapseAfter+time.Second {
			t.Errorf("%q again and again holds it for %s", again, held)
		}
		b.shows(casttest.Busy).shows("\x1b]7501;state=idle\x07"+
			casttest.WorkClaim).shows(casttest.Idle).wants(coleo.Processing, "osc7501 working")
	}
}

func TestAWordOfWorkAtTheStartMustHold(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.WorkClaim).after(time.Second).wants(coleo.Initializing, "spawned")
	b.shows("\x1b]7501;state=idle\x07").shows(casttest.Idle).wants(coleo.Idle, "composer")
	held := newBench(t).shows(casttest.WorkClaim).after(lapseAfter).wants(coleo.Processing, "osc7501 working")
	if held.r.reading.Known {
		t.Error("no rule knows the screen, and something could be typed")
	}
	newBench(t).shows(casttest.Busy+casttest.WorkClaim).wants(coleo.Processing, "busy")
	newBench(t).shows("\x1b]7501;state=blocked\x07").wants(coleo.WaitingApproval, "osc7501 blocked")
	b.shows(casttest.WorkClaim).wants(coleo.Processing, "osc7501 working") // a later claim must count at once
}

func TestAScreenRuleAloneIsDeaf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.r.mode.screenOnly = true
	b.shows(casttest.Idle).shows(casttest.WorkClaim+
		"\x1b]26;Status=running\x07\x1b]9;4;3\x07").reports(`{"event":"Tool"}`).wants(coleo.Idle, "composer")
}

func TestOfTheProgressOfAToolNoProofIsMade(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle)
	looks := b.r.prompt.workSeen
	for _, p := range []string{"\x1b]9;4;1;5\x07", "\x1b]26;Status=finished\x07"} {
		if b.r.Feed([]byte(p), b.now); b.r.prompt.workSeen != looks {
			t.Errorf("%q counts as work", p)
		}
	}
	if b.r.Feed([]byte(casttest.WorkClaim), b.now); b.r.prompt.workSeen == looks {
		t.Error("the program's own word does not count")
	}
}

func TestNoticesSayWhatPtyHasOfThem(t *testing.T) {
	t.Parallel()
	for _, b := range protocols() {
		if b.kind == pty.NoticeTitle || b.name == "" || len(b.claims) == 0 {
			t.Errorf("%+v", b)
		}
		for word, claim := range b.claims {
			if claim == coleo.Idle || !claim.Valid() || strings.TrimSpace(word) == "" {
				t.Errorf("%s %s claims %q", b.name, word, claim)
			}
		}
	}
}

// After an error about its login, Claude Code reports "blocked" in an escape sequence, although it shows its
// composer and asks nothing. This report must soon stop counting.
func TestAClaimOfAQuestionLapsesSoonBesideAnError(t *testing.T) {
	t.Parallel()
	const failed = "\x1b[2J\x1b[HAPI Error: 401\r\n> \r\n───────\x1b[2;1H"
	rule := "[[rule]]\nname = \"failed\"\nstate = \"error\"\n" +
		"when = [{ where = \"above composer 1\", pattern = '^API Error' }]\n\n[[rule]]"
	b := newBenchOf(t, strings.Replace(casttest.PlainSpec, "[[rule]]", rule, 1)).shows(casttest.Idle).submits()
	b.shows(casttest.Busy+casttest.WorkClaim).wants(coleo.Processing, "busy")
	b.shows(failed+"\x1b]7501;state=blocked:kind=auth\x07").wants(coleo.WaitingApproval, "osc7501 blocked")
	b.after(lapseAfter+time.Second).wants(coleo.Failed, "failed")
}
