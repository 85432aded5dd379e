package coleo

import (
	"context"
	"time"
)

const (
	// insteadRetry is the time between two attempts to send words after a denial, while
	// the agent CLI takes no prompt yet.
	insteadRetry = 200 * time.Millisecond
	// insteadTries bounds the attempts. An idle agent CLI takes a prompt within a second
	// or two. If the agent CLI works meanwhile, the wait lasts as long as ctx allows.
	insteadTries = 50
)

// SendInstead tells an agent CLI what to do instead of the action that was just denied.
// The words go into the next prompt, because the dialog takes no words. SendInstead waits
// until the denied dialog is gone and the turn has ended. Then it calls send, which
// delivers the words.
//
// SendInstead returns EBlocked if the agent CLI asks something else, and EExited if it
// has ended. It returns ETimeout if ctx ends first. Other errors are those of send.
func SendInstead(ctx context.Context, s Session, denied Fingerprint, send func(context.Context) error) error {
	for try := 1; ; try++ {
		if err := awaitDenied(ctx, s, denied); err != nil {
			return err
		}
		err := send(ctx)
		if ErrorCode(err) != EBusy || try == insteadTries {
			return err
		}
		select { // it works again, or shows no composer yet
		case <-time.After(insteadRetry):
		case <-ctx.Done():
			return err
		}
	}
}

// awaitDenied waits until a session takes prompts after a denial. At first the reading
// may still have the denied dialog, because a reading follows the screen after a while.
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
