package host

import (
	"context"
	"sync/atomic"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// mutedSession is a real session whose agent CLI does not answer for some time. Its first prompt takes too long, and
// nobody can find out whether that prompt has arrived.
type mutedSession struct {
	coleo.Session
	cut    func() // ends the wait of the client
	prompt atomic.Bool
	speaks atomic.Bool
}

func (s *mutedSession) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	if s.prompt.Swap(true) {
		return s.Session.SendPrompt(ctx, p)
	}
	s.cut()
	<-ctx.Done()
	return coleo.Receipt{}, ctx.Err()
}

func (s *mutedSession) Prove(ctx context.Context, r coleo.Receipt) (coleo.Proof, error) {
	if !s.speaks.Load() {
		return "", coleo.Errorf(coleo.EUnavailable, "the server does not answer")
	}
	return s.Session.(coleo.Prover).Prove(ctx, r)
}

// A client gives up while its prompt is being sent, and the agent CLI does not say whether it has the prompt. As soon
// as the agent CLI answers again, or has ended, it must be told what became of the prompt. Until then, the queue waits.
func TestAPromptThatNobodyCouldFindIsLookedForAgain(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"it answers": false, "it has ended": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.arm("ada")
			ctx, cut := context.WithCancel(t.Context())
			muted := &mutedSession{cut: cut}
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session {
				muted.Session = real
				return muted
			})
			if _, err := a.prompt(ctx, promptOrder(id, "say one")); err == nil {
				t.Fatal("the prompt was answered")
			}
			if left := a.recordNow().Intended; len(left) != 1 {
				t.Fatalf("about to be typed are %+v, want the prompt", left)
			}
			if kill {
				must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
			}
			muted.speaks.Store(!kill)
			s.until("the prompt is called lost", func() bool { return len(s.events(id, coleo.EventPromptLost)) == 1 })
			if kill {
				return
			}
			s.followUp(id, "say two")
			a.sendFirst(t.Context(), session)
			s.awaitPrompted("ada", "say two")
			s.awaitRuns(id, 1)
		})
	}
}
