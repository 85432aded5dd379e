// Package waitfor waits for a session of an agent CLI: for a state, for the end of a turn, and for an
// answer.
package waitfor

import (
	"context"
	"errors"
	"slices"
	"time"

	"coleo.dev"
)

// State waits until the session is in one of the wanted states, and returns the reading. It
// returns ETimeout if ctx's deadline passes, and ctx's error if ctx is cancelled. If the agent CLI
// ends and Dead is not a wanted state, State returns EExited.
func State(ctx context.Context, s coleo.Session, want ...coleo.State) (coleo.Reading, error) {
	newest := newestChange(s)
	if now := s.State(); isReached(now, want) {
		return now, nil
	} else if now.State == coleo.Dead {
		return now, exitError(newest)
	}
	return waitAfter(ctx, s, newest.Cursor, want)
}

// NewestCursor returns the position after the newest change of a session.
func NewestCursor(s coleo.Session) coleo.Cursor { return newestChange(s).Cursor }

// newestChange returns the newest change of a session that is not of the kind ChangeWork. But the field Cursor
// of the result belongs to the newest change of any kind.
func newestChange(s coleo.Session) (newest coleo.Change) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the context has ended, so that Changes returns only the changes that exist already
	for change := range s.Changes(ctx, 0) {
		if change.Kind == coleo.ChangeWork { // such a change does not say how the agent CLI has ended
			newest.Cursor = change.Cursor
			continue
		}
		newest = change
	}
	return newest
}

// Idle waits until the session is idle, and returns the reading. It returns the errors of State.
func Idle(ctx context.Context, s coleo.Session) (coleo.Reading, error) {
	return State(ctx, s, coleo.Idle)
}

// Turn waits until the turn of the prompt with the receipt r has ended, or until a dialog is open.
// It returns the reading, whose state is idle, error or waiting_approval. It returns the errors of
// State.
func Turn(ctx context.Context, s coleo.Session, r coleo.Receipt) (coleo.Reading, error) {
	return waitAfter(ctx, s, r.Cursor, []coleo.State{coleo.Idle, coleo.Failed, coleo.WaitingApproval})
}

// Response waits until the turn of the prompt with the receipt r has ended, and returns the agent
// CLI's answer. It returns EBlocked if a dialog opens first. It also returns the errors of State and
// Session.Answer.
func Response(ctx context.Context, s coleo.Session, r coleo.Receipt) (coleo.Answer, error) {
	reading, err := Turn(ctx, s, r)
	if err != nil {
		return coleo.Answer{}, err
	}
	if reading.State == coleo.WaitingApproval {
		return coleo.Answer{}, coleo.Blocked(reading.Dialog)
	}
	return s.Answer(ctx, r)
}

func waitAfter(ctx context.Context, s coleo.Session, from coleo.Cursor, want []coleo.State) (coleo.Reading, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	last := s.State()
	for change, err := range s.Changes(ctx, from) {
		if err != nil {
			return last, err
		}
		last = change.Reading
		if change.Kind != coleo.ChangeState {
			continue
		}
		if isReached(last, want) {
			return last, nil
		}
		if last.State == coleo.Dead {
			return last, exitError(change)
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return last, coleo.Errorf(coleo.ETimeout, "waited for %v, still %s (rule %q)", want, last.State, last.Rule)
	}
	return last, ctx.Err()
}

// isReached reports whether the state of the reading r is one of the wanted states. For
// waiting_approval, the reading must also contain the dialog, because otherwise nobody can answer
// it.
func isReached(r coleo.Reading, want []coleo.State) bool {
	return slices.Contains(want, r.State) && (r.State != coleo.WaitingApproval || r.Dialog != nil)
}

func exitError(c coleo.Change) *coleo.Error {
	e := coleo.Errorf(coleo.EExited, "the agent CLI has ended: %s", c.Note)
	e.Screen = c.Screen
	return e
}

const (
	// insteadRetry is the time between two attempts to send the user's words after a denial. The
	// first attempts can fail, because the agent CLI needs a moment to become ready.
	insteadRetry = 200 * time.Millisecond
	// insteadTries is the maximum number of attempts. The attempts take 10 s altogether. That is
	// enough, because an idle agent CLI accepts a prompt within one or two seconds. While the
	// agent CLI works, SendInstead makes no attempts and waits for as long as ctx allows.
	insteadTries = 50
)

// SendInstead sends the user's words about what an agent CLI should do instead of an action that
// was just denied. The words are sent as the next prompt, because the dialog of the action accepts
// no words. SendInstead waits until this dialog is gone and the turn has ended. Then it calls send,
// which must deliver the words.
//
// SendInstead returns EBlocked if the agent CLI shows another dialog, and EExited if the agent CLI
// has ended. It returns ETimeout if ctx ends first. It returns the errors of send unchanged.
func SendInstead(ctx context.Context, s coleo.Session, denied coleo.Fingerprint,
	send func(context.Context) error) error {
	for try := 1; ; try++ {
		if err := awaitDenied(ctx, s, denied); err != nil {
			return err
		}
		err := send(ctx)
		if coleo.ErrorCode(err) != coleo.EBusy || try == insteadTries {
			return err
		}
		// send was refused, because the agent CLI works again, or its composer is not on the screen yet
		select {
		case <-time.After(insteadRetry):
		case <-ctx.Done():
			return err
		}
	}
}

// awaitDenied waits until the session is ready for a prompt after a denial. The first readings can
// still contain the denied dialog, because a reading is slightly older than the screen.
func awaitDenied(ctx context.Context, s coleo.Session, denied coleo.Fingerprint) error {
	settled := func(r coleo.Reading) (bool, error) {
		switch r.State {
		case coleo.Idle, coleo.Failed:
			return true, nil
		case coleo.WaitingApproval:
			if r.Dialog != nil && r.Dialog.Fingerprint != denied {
				return true, coleo.Blocked(r.Dialog)
			}
		case coleo.Dead:
			return true, coleo.Errorf(coleo.EExited, "the agent CLI has ended")
		case coleo.Initializing, coleo.Processing, coleo.Executing:
		}
		return false, nil
	}
	from := NewestCursor(s)
	if done, err := settled(s.State()); done {
		return err
	}
	for change, err := range s.Changes(ctx, from) {
		if err != nil {
			return err
		}
		if done, err := settled(change.Reading); done {
			return err
		}
	}
	return coleo.Errorf(coleo.ETimeout, "the turn has not ended yet")
}
