package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
	"coleo.dev/waitfor"
)

// This file finds out what became of a prompt if Coleo does not know whether the prompt has arrived. For example,
// the host agent was killed while it sent the prompt, a dialog hides the prompt, or the client gave up.

// keepUnsettled marks an intended prompt as unsettled, because a dialog hides whether the prompt
// has arrived. A later change of the session shows this. If the session or the host agent ends
// first, Coleo treats the prompt like any intended prompt: it looks for the prompt, or records it
// as lost.
func (a *arm) keepUnsettled(ctx context.Context, run coleo.Receipt) {
	err := a.change(context.WithoutCancel(ctx), func(r *store.ArmRecord) []coleo.Event {
		if !armrecord.IsIntended(r, run.ID) {
			return nil // the session has already shown what became of the prompt
		}
		run.Unsettled = true
		r.Intended = append(armrecord.WithoutReceipt(r.Intended, run.ID), run)
		return nil
	})
	if err != nil {
		a.host.Log.Error("record that a dialog hides a prompt", "arm", a.name(), "error", err)
	}
}

// unsettledRun returns the prompt whose arrival is unknown because a dialog hides it. Usually
// keepUnsettled has marked this prompt. The caller passes the session's note, which contains the
// text of the prompt that has arrived or is lost. unsettledRun returns false if that is another
// prompt, for example one that was called lost before.
//
// The session can report the arrival or the loss before keepUnsettled has marked the prompt. So if
// no marked prompt has that text, unsettledRun returns the intended prompt with exactly that text.
func (a *arm) unsettledRun(note string) (coleo.Receipt, bool) {
	exact := func(r coleo.Receipt) bool { return note == r.Text || strings.HasSuffix(note, ": "+r.Text) }
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, is := range []func(coleo.Receipt) bool{
		func(r coleo.Receipt) bool { return r.Unsettled && exact(r) },
		func(r coleo.Receipt) bool { return r.Unsettled && armrecord.Mentions(note, r) },
		exact,
	} {
		if at := slices.IndexFunc(a.record.Intended, is); at >= 0 {
			return a.record.Intended[at], true
		}
	}
	return coleo.Receipt{}, false
}

// forgetUnsettled removes the prompt that a dialog has hidden, after the session has reported that
// the prompt is lost. `note` is the session's note about that: see unsettledRun.
func (a *arm) forgetUnsettled(ctx context.Context, note string) error {
	run, ok := a.unsettledRun(note)
	if !ok {
		return nil
	}
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Intended = armrecord.WithoutReceipt(r.Intended, run.ID)
		return armrecord.PauseAfter(r, run)
	})
}

// resolve settles the prompts that an earlier host agent was about to type when it was killed. If
// there is proof that a prompt has arrived, resolve begins the prompt's run. Otherwise it records
// the prompt as lost. It never types a prompt again. `intended` must contain only prompts from
// before the attach.
func (a *arm) resolve(ctx context.Context, s coleo.Session, intended []coleo.Receipt) {
	for _, p := range intended {
		if err := a.settle(ctx, s, p); err != nil {
			a.host.Log.Error("look for a prompt that was about to be typed", "arm", a.name(), "error", err)
			a.settleLater(s, p)
		}
	}
	if len(intended) > 0 {
		a.endRun(ctx, s)
	}
}

func (a *arm) settle(ctx context.Context, s coleo.Session, p coleo.Receipt) error {
	if prover, ok := s.(coleo.Prover); ok {
		before := waitfor.NewestCursor(s)
		proof, err := prover.Prove(ctx, p)
		if err != nil {
			return err // see settleLater
		}
		if proof == coleo.ProofStarted && (s.State().State.Working() || waitfor.NewestCursor(s) > before) {
			// The session may have been idle before the prompt was found. That is not the end of this turn.
			p.Cursor = before
		}
		if p.Proof = proof; proof != "" {
			return a.open(ctx, p)
		}
	}
	return a.losePrompt(ctx, p, s.State())
}

// losePrompt records that a prompt is lost, unless another goroutine has already recorded what became of it.
func (a *arm) losePrompt(ctx context.Context, p coleo.Receipt, reading coleo.Reading) error {
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if !armrecord.IsIntended(r, p.ID) {
			return nil
		}
		r.Intended = armrecord.WithoutReceipt(r.Intended, p.ID)
		return armrecord.LosePrompt(r, p, reading)
	})
}

// settleHidden settles the prompts whose arrival a dialog still hides when the agent CLI has ended. It looks
// for each prompt, as after a kill of the host agent. Nobody else would report what became of the prompt.
func (a *arm) settleHidden(ctx context.Context, s coleo.Session) {
	for _, p := range a.recordNow().Intended {
		if !p.Unsettled {
			continue // the goroutine that sends the prompt settles it
		}
		p.Unsettled = false
		if err := a.settleOrLose(ctx, s, p); err != nil {
			a.host.Log.Error("record what became of a prompt", "arm", a.name(), "error", err)
		}
	}
	a.endRun(ctx, s)
}

// settleTaken is called after SendPrompt has failed for a prompt of the queue, if it is unknown
// whether the prompt has arrived. If something else proves the arrival, settleTaken begins the
// prompt's run. Otherwise it records the prompt as lost and pauses the queue.
func (a *arm) settleTaken(ctx context.Context, s coleo.Session, run coleo.Receipt, cause error) {
	var e *coleo.Error
	// An EPromptLost with a screen is the session's report that the prompt is lost.
	told := errors.As(cause, &e) && e.Code == coleo.EPromptLost && e.Screen != nil
	err := errors.New("nothing proves that it has arrived")
	if !told {
		err = a.settle(ctx, s, run)
	}
	if err == nil {
		a.endRun(ctx, s)
		return
	}
	reading := s.State()
	err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if !armrecord.IsIntended(r, run.ID) {
			return nil
		}
		r.Intended = armrecord.WithoutReceipt(r.Intended, run.ID)
		if told {
			return armrecord.PauseAfter(r, run)
		}
		return armrecord.LosePrompt(r, run, reading)
	})
	if err != nil {
		a.host.Log.Error("record that a prompt of the queue is lost", "arm", a.name(), "error", err)
	}
}

// settleEvery is the time between two attempts of settleLater.
const settleEvery = 2 * time.Second

// settleLater is called if the session could not say whether a prompt has arrived, for example because the agent CLI's
// server does not answer. It asks again until the session says so. Nothing is sent from the arm's queue meanwhile. If
// the agent CLI ends first, and its record does not contain the prompt, the prompt is lost. If the arm gets another
// session or moves, whoever attaches to it looks for the prompt.
func (a *arm) settleLater(s coleo.Session, p coleo.Receipt) {
	a.host.runs.Go(func() {
		tick := time.NewTicker(settleEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-a.host.ctx.Done():
				return // the next host agent looks for the prompt
			}
			if a.settleAgain(s, p) {
				return
			}
		}
	})
}

// settleAgain makes one attempt for settleLater. It reports whether nothing more is to do.
func (a *arm) settleAgain(s coleo.Session, p coleo.Receipt) (done bool) {
	leave, err := a.stay()
	if err != nil {
		return true
	}
	defer leave()
	a.delivering.Lock() // a prompt with the same text that is sent now must not count as proof
	defer a.delivering.Unlock()
	ctx := context.WithoutCancel(a.host.ctx)
	if s.State().State == coleo.Dead {
		err = a.settleOrLose(ctx, s, p)
	} else if now, _ := a.liveSession(); now == s {
		limited, cancel := context.WithTimeout(ctx, hiddenTime)
		defer cancel()
		if err := a.settle(limited, s, p); err != nil {
			return false
		}
		a.endRun(ctx, s)
	}
	if err != nil {
		a.host.Log.Error("record what became of a prompt", "arm", a.name(), "error", err)
	}
	return true
}

// hiddenTime is how long one attempt to find a prompt may take if Coleo does not need the result at once.
const hiddenTime = 10 * time.Second

// settleOrLose settles a prompt of an agent CLI that has ended. If the session can no longer say whether the prompt
// has arrived, the prompt is lost.
func (a *arm) settleOrLose(ctx context.Context, s coleo.Session, p coleo.Receipt) error {
	limited, cancel := context.WithTimeout(ctx, hiddenTime)
	defer cancel()
	if a.settle(limited, s, p) == nil {
		return nil
	}
	return a.losePrompt(ctx, p, s.State())
}
