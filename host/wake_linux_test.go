package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/fakeagent"
)

// askingSession is a real session whose agent CLI shows a dialog just before a prompt is typed.
type askingSession struct {
	coleo.Session
	ask func()
}

func (a *askingSession) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	a.ask()
	return a.Session.SendPrompt(ctx, p)
}

// A parked arm is about to continue by itself, and a dialog opens, before or after the prompt is taken from the
// queue. No key may reach the dialog. After the answer, the prompt must be sent once.
func TestADialogAtTheWakeTimeGetsNoKey(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		wake func(s *stage, id string, ask func())
		want []coleo.ParkStep // the steps before the answer
	}{
		"before the prompt is taken": {func(s *stage, id string, ask func()) {
			ask()
			s.look(id)
			s.checkNothingSent(id, "ada", 1)
		}, []coleo.ParkStep{coleo.ParkBegun}},
		"after the prompt is taken": {func(s *stage, id string, ask func()) {
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session { return &askingSession{real, ask} })
			a.sendFirst(s.t.Context(), session)
			if q := s.queue(id, coleo.QueueOrder{}); len(q.Entries) != 1 || q.Held == "" || q.Paused != "" {
				s.t.Errorf("the queue is %+v", q)
			}
			s.hijack(id, func(coleo.Session) coleo.Session { return session.(*askingSession).Session })
		}, []coleo.ParkStep{coleo.ParkBegun, coleo.ParkContinued}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, id, clock := limitStage(t, "")
			p := s.meets(id, "429")
			tape := &fakeTape{path: s.path("work-ada")}
			tape.update(t)
			clock.advance(p.Wake.Sub(clock.now()))
			c.wake(s, id, func() { s.beginDialog(id, tape) })
			tape.update(t)
			if len(tape.keys) != 0 || tape.chosen != 0 {
				t.Errorf("the dialog got the keys %q", tape.keys)
			}
			if got := s.steps(id); !slices.Equal(got, c.want) {
				t.Errorf("before the answer, the log tells %q, want %q", got, c.want)
			}
			must[struct{}](s, bus.OpRespond, bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceDeny}})
			s.awaitPrompted("ada", "say Limit: 429", "say on")
			s.awaitRuns(id, 2)
			s.restart()
			s.checkNothingSent(id, "ada", 2)
			if lost := s.events(id, coleo.EventPromptLost); len(lost) != 0 {
				t.Errorf("%d prompts are called lost", len(lost))
			}
		})
	}
}

// beginDialog makes the fake agent CLI show a dialog by itself, and waits until its session shows
// the dialog.
func (s *stage) beginDialog(id string, tape *fakeTape) {
	s.check(os.WriteFile(filepath.Join(tape.path, fakeagent.OrdersFile), []byte("dialog make"), 0o600))
	s.check(syscall.Kill(tape.pid, syscall.SIGUSR1))
	s.until("the dialog is open", func() bool {
		return must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Reading.Dialog != nil
	})
}
