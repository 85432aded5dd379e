package host

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
)

func TestAPromptFollowsOnlyWhenEveryConditionHolds(t *testing.T) {
	t.Parallel()
	may := func(change func(a *arm, now *coleo.Reading)) bool {
		session := &refusingSession{}
		now := coleo.Reading{State: coleo.Idle, Known: true}
		a := &arm{session: session, reading: now, sending: queueSending{changes: 1}}
		change(a, &now)
		return a.mayFollow(session, now, coleo.Queued{})
	}
	if !may(func(*arm, *coleo.Reading) {}) {
		t.Error("an idle arm gets no prompt")
	}
	for what, change := range map[string]func(a *arm, now *coleo.Reading){
		"it works":                 func(_ *arm, now *coleo.Reading) { now.State = coleo.Processing },
		"it worked when last told": func(a *arm, _ *coleo.Reading) { a.reading.State = coleo.Executing },
		"it failed":                func(_ *arm, now *coleo.Reading) { now.State = coleo.Failed },
		"no rule knows the screen": func(_ *arm, now *coleo.Reading) { now.Known = false },
		"a dialog is open":         func(_ *arm, now *coleo.Reading) { now.Dialog = &coleo.Dialog{} },
		"the end is not proven":    func(_ *arm, now *coleo.Reading) { now.Rule = coleo.RuleUnprovenIdle },
		"a run is open":            func(a *arm, _ *coleo.Reading) { a.record.Run = &coleo.Receipt{} },
		"a run is being opened":    func(a *arm, _ *coleo.Reading) { a.run = &coleo.Receipt{} },
		"a prompt is on its way":   func(a *arm, _ *coleo.Reading) { a.record.Intended = []coleo.Receipt{{}} },
		"its work is done":         func(a *arm, _ *coleo.Reading) { a.done = true },
		"the arm is gone":          func(a *arm, _ *coleo.Reading) { a.gone = true },
		"another session":          func(a *arm, _ *coleo.Reading) { a.session = &refusingSession{} },
		"nothing has changed":      func(a *arm, _ *coleo.Reading) { a.sending.tried = 1 },
		"somebody types by hand": func(a *arm, _ *coleo.Reading) {
			_, _ = a.lease.Take(t.Context(), "l", "me", "ada")
		},
	} {
		if may(change) {
			t.Errorf("%s, and a prompt may be sent", what)
		}
	}
}

func TestAParkedArmGoesOnOnlyWhenEveryConditionHolds(t *testing.T) {
	t.Parallel()
	wake := time.Now()
	may := func(change func(a *arm, now *coleo.Reading)) bool {
		session := &refusingSession{}
		now := coleo.Reading{State: coleo.Failed, Known: true}
		a := &arm{session: session, reading: now, sending: queueSending{changes: 1}}
		a.record.Queue = &coleo.Queue{Parked: &coleo.Parked{Wake: wake}}
		change(a, &now)
		return queue.Due(armrecord.Queue(&a.record), wake) && a.mayFollow(session, now, coleo.Queued{Continues: 1})
	}
	for what, change := range map[string]func(a *arm, now *coleo.Reading){
		"it shows the error":       func(*arm, *coleo.Reading) {},
		"it does not show it more": func(a *arm, now *coleo.Reading) { now.State, a.reading.State = coleo.Idle, coleo.Idle },
	} {
		if !may(change) {
			t.Errorf("%s, and it does not go on", what)
		}
	}
	for what, change := range map[string]func(a *arm, now *coleo.Reading){
		"it works":           func(_ *arm, now *coleo.Reading) { now.State = coleo.Processing },
		"a dialog is open":   func(_ *arm, now *coleo.Reading) { now.Dialog = &coleo.Dialog{} },
		"it asks something":  func(_ *arm, now *coleo.Reading) { now.State = coleo.WaitingApproval },
		"its screen is new":  func(_ *arm, now *coleo.Reading) { now.Known = false },
		"its end is unclear": func(_ *arm, now *coleo.Reading) { now.Rule = coleo.RuleUnprovenIdle },
		"a run is open":      func(a *arm, _ *coleo.Reading) { a.record.Run = &coleo.Receipt{} },
		"a prompt is sent":   func(a *arm, _ *coleo.Reading) { a.record.Intended = []coleo.Receipt{{}} },
		"it is paused":       func(a *arm, _ *coleo.Reading) { a.record.Queue.Paused = "by hand" },
		"it is too early":    func(a *arm, _ *coleo.Reading) { a.record.Queue.Parked.Wake = wake.Add(time.Second) },
		"a person decides":   func(a *arm, _ *coleo.Reading) { a.record.Queue.Parked.Wake = time.Time{} },
		"it has gone on":     func(a *arm, _ *coleo.Reading) { a.record.Queue.Parked = nil },
		"somebody types by hand": func(a *arm, _ *coleo.Reading) {
			_, _ = a.lease.Take(t.Context(), "l", "me", "ada")
		},
	} {
		if may(change) {
			t.Errorf("%s, and it goes on", what)
		}
	}
}

func TestFilesAreNamedInTheWayOfTheAgentCLI(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		way   string
		files []string
	}{
		"do it\n\nAttached files: /a/b, /c":   {"", []string{"/a/b", "/c"}},
		"@/a/b @/c\ndo it":                    {"@{path}", []string{"/a/b", "/c"}},
		"do it\n\nAttached files: /a b.txt":   {"@{path}", []string{"/a b.txt"}},
		"do it\n\nAttached files: /a, /b\"c'": {"@{path}", []string{"/a", "/b\"c'"}},
	} {
		if got := attach(c.way, coleo.Prompt{Text: "do it", Files: c.files}); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

// After a start, the session can be in another mode than a user has ordered. A prompt of the queue
// must be typed in the ordered mode, with the instructions of that mode.
func TestAPromptOfTheQueueGetsTheOrderedMode(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, err := s.host.arm(id)
	s.check(err)
	a.mu.Lock()
	a.record.Spec.Chosen = &coleo.Chosen{Mode: "edits", Unsaid: "Think twice."}
	a.choices.NewSession(true)
	a.mu.Unlock()
	s.followUp(id, "say one")
	s.awaitPrompted("ada", "Think twice.\n\nsay one")
	s.awaitRuns(id, 1)
	var kinds []coleo.EventKind
	all, _ := s.readLog()
	for _, e := range all {
		if e.Arm == id && (e.Kind == coleo.EventMode || e.Kind == coleo.EventRunStart) {
			kinds = append(kinds, e.Kind)
		}
	}
	session, err := a.liveSession()
	s.check(err)
	if got := session.State().Mode; got != "edits" {
		t.Errorf("the mode is %q, want edits", got)
	}
	if n := len(kinds); n < 2 || kinds[n-1] != coleo.EventRunStart || kinds[n-2] != coleo.EventMode {
		t.Errorf("the log has %q, want the mode before the run", kinds)
	}
	if c := a.choices.Chosen(); c.Unsaid != "" {
		t.Errorf("the instructions %q are still to be said", c.Unsaid)
	}
}
