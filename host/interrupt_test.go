package host

import (
	"context"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// lateSession is a real session whose turn ends just before an interrupt would have typed its key. A
// real agent CLI shows that moment too rarely for a test.
type lateSession struct {
	coleo.Session
	ended func() // returns when the host agent knows that the turn has ended
}

func (s lateSession) Interrupt(ctx context.Context) (coleo.Interruption, error) {
	s.ended()
	return s.Session.Interrupt(ctx)
}

// An interrupt that comes too late types no key. The run has finished, and counts as finished.
func TestARunThatEndsBeforeTheKeyOfAnInterruptHasFinished(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.hijack(id, func(session coleo.Session) coleo.Session {
		return lateSession{session, func() { s.awaitState(id, coleo.Idle) }}
	})
	s.prompt(id, "pause 1s\nsay done")
	s.awaitState(id, coleo.Processing)
	if out := must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id}); out.Stopped() {
		t.Fatalf("the interrupt did %+v, want nothing", out)
	}
	s.awaitRuns(id, 1)
	s.prompt(id, "pause 1s\nsay more")
	s.awaitState(id, coleo.Processing)
	must[coleo.Receipt](s, bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "say last", Interrupt: true}})
	s.awaitRuns(id, 3)
	for run, end := range s.ends(id) {
		if end.Outcome != coleo.OutcomeFinished {
			t.Errorf("the run %s is %s, want %s", run, end.Outcome, coleo.OutcomeFinished)
		}
	}
}
