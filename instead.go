package coleo

import (
	"context"
	"time"
)

const (
	// insteadRetry is the time between two attempts to send words after a denial, while
	// the agent CLI takes no prompt yet.
	insteadRetry = 200 * time.Millisecond
	// insteadTries bounds the number of attempts. An idle agent CLI takes a prompt
	// within a second or two. While the agent CLI is working, SendInstead waits as long
	// as ctx allows.
	insteadTries = 50
)

// SendInstead tells an agent CLI what to do instead of the action that was just denied.
// The user's words go into the next prompt, because the dialog itself takes no words.
// SendInstead waits until the denied dialog is gone and the turn has ended. Then
// SendInstead calls send, which must deliver the words.
//
// SendInstead returns EBlocked if the agent CLI shows another dialog. It returns
// EExited if the agent CLI has ended, and ETimeout if ctx ends first. It returns the
// errors of send unchanged.
func SendInstead(ctx context.Context, s Session, denied Fingerprint, send func(context.Context) error) error {
	for try := 1; ; try++ {
		if err := awaitDenied(ctx, s, denied); err != nil {
			return err
		}
		err := send(ctx)
		if ErrorCode(err) != EBusy || try == insteadTries {
			return err
		}
		select { // the agent CLI works again, or shows no composer yet
		case <-time.After(insteadRetry):
		case <-ctx.Done():
			return err
		}
	}
}

// awaitDenied waits until a session takes prompts after a denial. The first readings
// may still have the denied dialog, because a reading is always a little older than the
// screen.
func awaitDenied(ctx context.Context, s Session, denied Fingerprint) error {
	settled := func(r Reading) (bool, error) {
		switch r.State {
		case Idle, Failed:
			return true, nil
		case WaitingApproval:
			if r.Dialog != nil && r.Dialog.Fingerprint != denied {
				return true, Blocked(r.Dialog)
			}
		case Dead:
			return true, Errorf(EExited, "the agent CLI has ended")
		case Initializing, Processing, Executing:
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
	return Errorf(ETimeout, "the turn has not ended yet")
}
