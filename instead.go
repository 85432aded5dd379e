package coleo

import (
	"context"
	"time"
)

const (
	// insteadRetry is between two tries to send words behind a denial to an agent CLI
	// that takes no prompt yet.
	insteadRetry = 200 * time.Millisecond
	// insteadTries bounds them: an agent CLI that is idle takes a prompt within a
	// second or two. One that works meanwhile is waited for as long as ctx allows.
	insteadTries = 50
)

// SendInstead tells an agent CLI what to do instead of what was just denied: as the
// next prompt, because its dialogs take no words. It waits until the session reads
// anything but the dialog that was denied, and until its turn has ended. send
// delivers the words. Errors: EBlocked when the agent CLI asks something else now,
// EExited when it has ended, and those of send.
func SendInstead(ctx context.Context, s Session, denied Fingerprint, send func(context.Context) error) error {
	for try := 1; ; try++ {
		if err := awaitDenied(ctx, s, denied); err != nil {
			return err
		}
		err := send(ctx)
		if ErrorCode(err) != EBusy || try == insteadTries {
			return err
		}
		select { // it has begun to work again, or shows no composer yet
		case <-time.After(insteadRetry):
		case <-ctx.Done():
			return err
		}
	}
}

// awaitDenied waits until a session takes prompts behind a denial. The reading may
// still be that of the denied dialog: it follows the screen after a while.
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
