package coleo

import (
	"context"
	"time"
)

const (
	// insteadRetry is the time between two attempts to send the user's words after a
	// denial, if the agent CLI is not yet ready for a prompt.
	insteadRetry = 200 * time.Millisecond
	// insteadTries is the maximum number of attempts. An idle agent CLI accepts a
	// prompt within one or two seconds. While the agent CLI works, SendInstead makes no
	// attempts, but waits as long as ctx allows.
	insteadTries = 50
)

// SendInstead tells an agent CLI what to do instead of the action that was just denied.
// The user's words go into the next prompt, because the dialog of the denied action
// takes no words. SendInstead waits until that dialog is gone and the turn has ended.
// Then it calls send, which must deliver the words.
//
// SendInstead returns EBlocked if the agent CLI shows another dialog. It returns
// EExited if the agent CLI has ended. It returns ETimeout if ctx ends first. It returns
// the errors of send unchanged.
func SendInstead(ctx context.Context, s Session, denied Fingerprint, send func(context.Context) error) error {
	for try := 1; ; try++ {
		if err := awaitDenied(ctx, s, denied); err != nil {
			return err
		}
		err := send(ctx)
		if ErrorCode(err) != EBusy || try == insteadTries {
			return err
		}
		select { // the agent CLI works again, or does not show its composer yet
		case <-time.After(insteadRetry):
		case <-ctx.Done():
			return err
		}
	}
}

// awaitDenied waits until the session is ready for a prompt after a denial. The first
// readings can still show the denied dialog, because a reading is slightly older than
// the screen.
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
