package host

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// cutSession is a real session that closes the database, as if the host agent were killed. It does
// so before a prompt is typed or after the prompt has arrived. A real kill rarely hits these
// moments.
type cutSession struct {
	coleo.Session
	db     *store.HostDB
	before bool // close the database before the prompt is typed
}

func (s cutSession) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	if s.before {
		return coleo.Receipt{}, s.db.Close()
	}
	r, err := s.Session.SendPrompt(ctx, p)
	_ = s.db.Close()
	return r, err
}

// killDuringPrompt sends a prompt, kills the host agent meanwhile, and starts the next one.
func (s *stage) killDuringPrompt(id, text string, before bool) {
	s.t.Helper()
	a, err := s.host.arm(id)
	s.check(err)
	a.mu.Lock()
	a.session = cutSession{a.session, s.db, before}
	a.mu.Unlock()
	if _, err := a.prompt(s.t.Context(), promptOrder(id, text)); err == nil {
		s.t.Fatal("the prompt was answered by a host agent that had been killed")
	}
	s.restart()
}

// ends returns the end of each run of the arm, by run id. It also checks that each run has exactly
// one end.
func (s *stage) ends(id string) map[string]coleo.RunEnd {
	s.t.Helper()
	ended := map[string]coleo.RunEnd{}
	for _, e := range s.events(id, coleo.EventRunEnd) {
		if _, twice := ended[e.Run]; twice {
			s.t.Errorf("run %s ended twice", e.Run)
		}
		end, err := coleo.DecodeRunEnd(e)
		s.check(err)
		ended[e.Run] = end
	}
	for _, e := range s.events(id, coleo.EventRunStart) {
		if _, ok := ended[e.Run]; !ok {
			s.t.Errorf("run %s has no end", e.Run)
		}
	}
	return ended
}

func TestAPromptThatArrivedBeforeItsHostAgentWasKilledHasARun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "say one")
	s.awaitState(id, coleo.Idle)
	s.killDuringPrompt(id, "say one", false) // the text of earlier prompts, which must not count here
	s.until("both runs have ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == 2 })
	for run, end := range s.ends(id) {
		if end.Status != coleo.Idle || end.Answer != "one" {
			t.Errorf("run %s ended with %+v, want the answer \"one\"", run, end)
		}
	}
	if lost := s.events(id, coleo.EventPromptLost); len(lost) != 0 {
		t.Errorf("%d prompts are called lost, want none", len(lost))
	}
	if got := s.prompted("ada"); !slices.Equal(got, []string{"say one", "say one"}) {
		t.Errorf("the agent CLI was prompted %q, want twice", got)
	}
}

func TestAPromptWhoseHostAgentWasKilledBeforeItTypedIsLost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "say one")
	s.awaitState(id, coleo.Idle)
	s.killDuringPrompt(id, "say one", true)
	if lost := s.events(id, coleo.EventPromptLost); len(lost) != 1 {
		t.Errorf("%d prompts are called lost, want one", len(lost))
	}
	if got := s.prompted("ada"); !slices.Equal(got, []string{"say one"}) {
		t.Errorf("the agent CLI was prompted %q, want once", got)
	}
	s.prompt(id, "say two")
	s.awaitState(id, coleo.Idle)
	s.until("both runs have ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == 2 })
	s.ends(id)
	s.restart() // the host agent must not look for the prompts again
	if lost := s.events(id, coleo.EventPromptLost); len(lost) != 1 {
		t.Errorf("%d prompts are called lost later, want one", len(lost))
	}
}

func TestARunEndsWithAnArmThatDiedWhileNoHostAgentRan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "hold 1h")
	s.prompt(id, "say queued")
	a, err := s.host.arm(id)
	s.check(err)
	handle := *a.record.Handle
	s.halt()
	s.endArm(handle)
	s.start()
	if ends := s.ends(id); len(ends) != 2 {
		t.Errorf("%d runs have ended, want two", len(ends))
	}
	for run, end := range s.ends(id) {
		if end.Status != coleo.Dead {
			t.Errorf("run %s ended with %+v, want dead", run, end)
		}
	}
}

// The agent CLI begins a turn by itself. If a run is open or a prompt is on its way, the turn belongs to that
// run. Otherwise it must be a separate run.
func TestATurnThatBeginsByItselfIsARun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, err := s.host.arm(id)
	s.check(err)
	session, err := a.liveSession()
	s.check(err)
	cursor := coleo.Cursor(100)
	change := func(c coleo.Change) {
		cursor++
		c.Cursor, c.Time = cursor, time.Now()
		s.check(a.note(t.Context(), session, c))
	}
	state := func(state coleo.State) {
		change(coleo.Change{Kind: coleo.ChangeState, Reading: coleo.Reading{State: state, Rule: "test", Known: true}})
	}
	turn := coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginSelf, Note: "a task has ended",
		Reading: coleo.Reading{State: coleo.Idle}}
	change(turn)
	state(coleo.Processing)
	turn.Note = "within the run"
	change(turn)
	state(coleo.Idle)
	starts := s.events(id, coleo.EventRunStart)
	if len(starts) != 1 {
		t.Fatalf("%d runs began, want 1", len(starts))
	}
	var run coleo.Receipt
	s.check(json.Unmarshal(starts[0].Payload, &run))
	if run.Origin != coleo.OriginSelf || run.Text != "a task has ended" {
		t.Errorf("the run is %+v", run)
	}
	if end := s.ends(id)[run.ID]; end.Outcome != coleo.OutcomeFinished {
		t.Errorf("the run ended %+v", end)
	}
}

// unsettledSession is a real session in which a dialog opens while a prompt is submitted. In a real
// agent CLI, that moment is too rare for a test.
type unsettledSession struct{ coleo.Session }

func (unsettledSession) SendPrompt(context.Context, coleo.Prompt) (coleo.Receipt, error) {
	return coleo.Receipt{}, coleo.Errorf(coleo.EUnsettled, "a dialog hides it")
}

// A dialog hides whether a prompt has arrived. If the session later reports that it has arrived,
// its run must begin. If the session reports that it has not arrived, or ends, the prompt must have
// no run.
func TestAPromptThatADialogHidHasARunIfItArrives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then       func(s *stage, a *arm, note func(coleo.Change))
		runs, lost int
	}{
		"arrived": {func(_ *stage, _ *arm, note func(coleo.Change)) {
			note(coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginLate, Note: "say it"})
		}, 1, 0},
		"lost": {func(_ *stage, _ *arm, note func(coleo.Change)) {
			note(coleo.Change{Kind: coleo.ChangePrompt, Note: "lost: say it"})
		}, 0, 1},
		"arrived after an earlier prompt that was called lost": {func(_ *stage, _ *arm, note func(coleo.Change)) {
			note(coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginLate, Note: "say earlier"})
			note(coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginLate, Note: "say it"})
		}, 2, 0},
		"arrived after another prompt was lost": {func(_ *stage, _ *arm, note func(coleo.Change)) {
			note(coleo.Change{Kind: coleo.ChangePrompt, Note: "not taken", Screen: &coleo.Screen{}})
			note(coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginLate, Note: "<text>say  it</text>"})
		}, 1, 1},
		"another turn": {func(_ *stage, _ *arm, note func(coleo.Change)) {
			note(coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginHand, Note: "by hand"})
			note(coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginLate, Note: "say it"})
		}, 2, 0},
		"the host agent ends": {func(s *stage, _ *arm, _ func(coleo.Change)) { s.restart() }, 0, 1},
		"the agent CLI ends": {func(s *stage, a *arm, _ func(coleo.Change)) {
			must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: a.record.ID})
		}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.arm("ada")
			a, err := s.host.arm(id)
			s.check(err)
			session, err := a.liveSession()
			s.check(err)
			a.mu.Lock()
			a.session = unsettledSession{session}
			a.mu.Unlock()
			if _, err := a.prompt(t.Context(), promptOrder(id, "say it")); coleo.ErrorCode(err) != coleo.EUnsettled {
				t.Fatalf("%v, want %s", err, coleo.EUnsettled)
			}
			run, kept := a.unsettledRun("say it")
			if !kept || run.Text != "say it" {
				t.Fatalf("kept is %+v, %v; want the prompt", run, kept)
			}
			cursor := coleo.Cursor(100)
			c.then(s, a, func(change coleo.Change) {
				cursor++
				change.Cursor, change.Time, change.Reading = cursor, time.Now(), coleo.Reading{State: coleo.Idle}
				s.check(a.note(t.Context(), session, change))
			})
			starts := s.events(id, coleo.EventRunStart)
			if lost := s.events(id, coleo.EventPromptLost); len(starts) != c.runs || len(lost) != c.lost {
				t.Errorf("%d runs and %d lost prompts, want %d and %d", len(starts), len(lost), c.runs, c.lost)
			}
			if c.runs > 0 && starts[len(starts)-1].Run != run.ID {
				t.Errorf("the run is %s, want that of the prompt, %s", starts[len(starts)-1].Run, run.ID)
			}
			if left, still := a.unsettledRun("say it"); still && name != "the host agent ends" {
				t.Errorf("still unsettled: %+v", left)
			}
		})
	}
}

// hastySession is a real session that hides a prompt behind a dialog. It reports what became of the prompt
// before SendPrompt returns. In reality the two happen at the same time.
type hastySession struct {
	coleo.Session
	tell func()
}

func (s hastySession) SendPrompt(context.Context, coleo.Prompt) (coleo.Receipt, error) {
	s.tell()
	return coleo.Receipt{}, coleo.Errorf(coleo.EUnsettled, "a dialog hides it")
}

// A dialog hides whether a prompt has arrived. The session reports what became of the prompt before the host
// agent has recorded that it is hidden. What became of the prompt must be recorded once.
func TestAHiddenPromptCanBeSettledBeforeItIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     coleo.Change
		runs, lost int
	}{
		"arrived": {coleo.Change{Kind: coleo.ChangeTurn, Origin: coleo.OriginLate, Note: "say it"}, 1, 0},
		"lost":    {coleo.Change{Kind: coleo.ChangePrompt, Note: "a dialog opened: say it"}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.arm("ada")
			a, err := s.host.arm(id)
			s.check(err)
			sent := ""
			a.mu.Lock()
			session := a.session
			a.session = hastySession{session, func() {
				sent = a.recordNow().Intended[0].ID
				c.change.Cursor, c.change.Time, c.change.Reading = 100, time.Now(), coleo.Reading{State: coleo.Processing}
				s.check(a.note(t.Context(), session, c.change))
			}}
			a.mu.Unlock()
			if _, err := a.prompt(t.Context(), promptOrder(id, "say it")); coleo.ErrorCode(err) != coleo.EUnsettled {
				t.Fatalf("%v, want %s", err, coleo.EUnsettled)
			}
			starts, lost := s.events(id, coleo.EventRunStart), s.events(id, coleo.EventPromptLost)
			if len(starts) != c.runs || len(lost) != c.lost || c.runs > 0 && starts[0].Run != sent {
				t.Errorf("the runs %+v and %d lost prompts; want %d of the prompt %s, and %d",
					starts, len(lost), c.runs, sent, c.lost)
			}
			if left := a.recordNow().Intended; len(left) > 0 {
				t.Errorf("still kept: %+v", left)
			}
		})
	}
}

func (s cutSession) Compact(ctx context.Context) (coleo.Receipt, error) {
	if s.before {
		return coleo.Receipt{}, s.db.Close()
	}
	r, err := s.Session.(coleo.Compactor).Compact(ctx)
	_ = s.db.Close()
	return r, err
}

func TestACompactionIsFoundByTheNextHostAgent(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		s := newStage(t)
		id := s.arm("ada")
		a, err := s.host.arm(id)
		s.check(err)
		a.mu.Lock()
		a.session = cutSession{a.session, s.db, before}
		a.mu.Unlock()
		if _, err := a.compact(t.Context()); err == nil {
			t.Fatal("the order was answered by a host agent that had been killed")
		}
		s.restart()
		kind, want := coleo.EventRunEnd, 1
		if before {
			kind = coleo.EventPromptLost
		}
		s.until("it is told what became of the command", func() bool { return len(s.events(id, kind)) == want })
		for run, end := range s.ends(id) {
			if before || !end.Compact || end.Answer != "" || end.Outcome != coleo.OutcomeFinished {
				t.Errorf("before %v: run %s ended with %+v", before, run, end)
			}
		}
		wants := []string{"/shorten"}
		if before {
			wants = nil
		}
		if got := s.prompted("ada"); !slices.Equal(got, wants) {
			t.Errorf("before %v: the agent CLI was prompted %q", before, got)
		}
	}
}

// A run is interrupted after a restart of the host agent. The new host agent has seen fewer changes of the
// session than the first one, and must still notice that the interrupt ends the run.
func TestAnInterruptAfterARestartEndsTheRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	for n := range 4 {
		s.prompt(id, "say one")
		s.awaitRuns(id, n+1)
		s.awaitState(id, coleo.Idle)
	}
	s.prompt(id, "pause 10m")
	s.restart()
	must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 5)
}

// An order for a compaction waits until the previous prompt has been sent. If the turn of that prompt ends the
// arm, because the arm's work is done, the host agent must refuse the compaction.
func TestAnArmThatIsEndingGetsNoCompaction(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, err := s.host.arm(id)
	s.check(err)
	a.delivering.Lock()
	answer := make(chan error)
	go func() {
		_, err := a.compact(t.Context())
		answer <- err
	}()
	a.mu.Lock()
	a.done = true
	a.mu.Unlock()
	a.delivering.Unlock()
	if err := <-answer; coleo.ErrorCode(err) != coleo.EExited {
		t.Errorf("%v, want %s", err, coleo.EExited)
	}
	if got := s.prompted("ada"); len(got) != 0 {
		t.Errorf("the agent CLI was prompted %q, want nothing", got)
	}
}
