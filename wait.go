package coleo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// WaitFor waits until the session is in one of the wanted states, and returns the reading. It
// returns ETimeout if ctx's deadline passes, and ctx's error if ctx is cancelled. If the agent CLI
// ends and Dead is not a wanted state, WaitFor returns EExited.
func WaitFor(ctx context.Context, s Session, want ...State) (Reading, error) {
	newest := newestChange(s)
	if now := s.State(); reached(now, want) {
		return now, nil
	} else if now.State == Dead {
		return now, exited(newest)
	}
	return waitAfter(ctx, s, newest.Cursor, want)
}

// NewestCursor returns the position after the newest change of a session.
func NewestCursor(s Session) Cursor { return newestChange(s).Cursor }

// newestChange returns the newest change that is not of the kind ChangeWork. In the result, Cursor
// is the cursor of the newest change of any kind.
func newestChange(s Session) (newest Change) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that Changes ends after the existing changes
	for change := range s.Changes(ctx, 0) {
		if change.Kind == ChangeWork { // a change of this kind does not say how the agent CLI has ended
			newest.Cursor = change.Cursor
			continue
		}
		newest = change
	}
	return newest
}

// WaitForIdle waits until the session is idle, and returns the reading. It returns the
// errors of WaitFor.
func WaitForIdle(ctx context.Context, s Session) (Reading, error) {
	return WaitFor(ctx, s, Idle)
}

// WaitForTurn waits until the turn of the prompt with the receipt r has ended, or until
// a dialog is open. It returns the reading, whose state is idle, error or
// waiting_approval. It returns the errors of WaitFor.
func WaitForTurn(ctx context.Context, s Session, r Receipt) (Reading, error) {
	return waitAfter(ctx, s, r.Cursor, []State{Idle, Failed, WaitingApproval})
}

// WaitForResponse waits until the turn of the prompt with the receipt r has ended, and
// returns the agent CLI's answer. It returns EBlocked if a dialog opens first. It also
// returns the errors of WaitFor and Session.Answer.
func WaitForResponse(ctx context.Context, s Session, r Receipt) (Answer, error) {
	reading, err := WaitForTurn(ctx, s, r)
	if err != nil {
		return Answer{}, err
	}
	if reading.State == WaitingApproval {
		return Answer{}, Blocked(reading.Dialog)
	}
	return s.Answer(ctx, r)
}

// Blocked returns the error for an action that is impossible while the dialog d is open. If the
// dialog is unknown, d is nil.
func Blocked(d *Dialog) *Error {
	if d == nil {
		return Errorf(EBlocked, "a dialog waits for an answer: answer, approve or deny it first")
	}
	article := "a "
	if strings.IndexAny(string(d.Kind), "aeiou") == 0 {
		article = "an "
	}
	what, subject := article+string(d.Kind)+" dialog", strings.Join(strings.Fields(d.Subject), " ")
	if d.Kind == DialogOther {
		what = "a dialog"
	}
	if subject != "" {
		subject = " (" + subject + ")"
	}
	do := "answer"
	switch {
	case d.Kind.Approves() && d.Several:
		do = "answer or deny" // an approval cannot choose options
	case d.Kind.Approves():
		do = "approve or deny"
	case len(d.Options) == 0:
		do = "answer, approve or deny" // Coleo cannot read what the dialog asks
	}
	e := Errorf(EBlocked, "%s waits for an answer: %q%s; %s it first", what, d.Title, subject, do)
	e.Dialog = d
	return e
}

func waitAfter(ctx context.Context, s Session, from Cursor, want []State) (Reading, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	last := s.State()
	for change, err := range s.Changes(ctx, from) {
		if err != nil {
			return last, err
		}
		last = change.Reading
		if change.Kind != ChangeState {
			continue
		}
		if reached(last, want) {
			return last, nil
		}
		if last.State == Dead {
			return last, exited(change)
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return last, Errorf(ETimeout, "waited for %v, still %s (rule %q)", want, last.State, last.Rule)
	}
	return last, ctx.Err()
}

// reached reports whether the state of the reading r is one of the wanted states. For
// waiting_approval, the reading must also contain the dialog, because otherwise nobody can answer
// it.
func reached(r Reading, want []State) bool {
	return slices.Contains(want, r.State) && (r.State != WaitingApproval || r.Dialog != nil)
}

func exited(c Change) *Error {
	e := Errorf(EExited, "the agent CLI has ended: %s", c.Note)
	e.Screen = c.Screen
	return e
}

// waiting is the key under which WithLeft stores its function in a context.
type waiting struct{}

// WithLeft returns a context for an order whose sender waits for the result. The given function
// must return how much longer the sender will certainly wait. This time increases each time the
// sender confirms that it still waits.
func WithLeft(ctx context.Context, left func() time.Duration) context.Context {
	return context.WithValue(ctx, waiting{}, left)
}

// TypingTimeLeft returns how much longer Coleo is allowed to type for ctx. This is the shorter of
// two times: the time until ctx's deadline, and the result of the function that was passed to
// WithLeft. If ctx has neither, TypingTimeLeft returns false.
func TypingTimeLeft(ctx context.Context) (time.Duration, bool) {
	end, bounded := ctx.Deadline()
	most := time.Until(end)
	left, ok := ctx.Value(waiting{}).(func() time.Duration)
	switch {
	case !ok:
		return most, bounded
	case !bounded:
		return left(), true
	}
	return min(most, left()), true
}

// MayType returns nil if Coleo is still allowed to type for ctx. Call MayType just before each
// write to a terminal. It returns ETimeout if TypingTimeLeft reports that no time is left, and
// ctx's error if ctx was cancelled. MayType reads the clock itself, because timers fire late in a
// process that was stopped and continued.
func MayType(ctx context.Context) error {
	if left, bounded := TypingTimeLeft(ctx); bounded && left <= 0 {
		return Errorf(ETimeout, "the caller no longer waits for this: nothing more was typed")
	}
	return ctx.Err()
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
func SendInstead(ctx context.Context, s Session, denied Fingerprint, send func(context.Context) error) error {
	for try := 1; ; try++ {
		if err := awaitDenied(ctx, s, denied); err != nil {
			return err
		}
		err := send(ctx)
		if ErrorCode(err) != EBusy || try == insteadTries {
			return err
		}
		select { // send was refused: the agent CLI works again, or its composer is not on the screen yet
		case <-time.After(insteadRetry):
		case <-ctx.Done():
			return err
		}
	}
}

// awaitDenied waits until the session is ready for a prompt after a denial. The first readings can
// still contain the denied dialog, because a reading is slightly older than the screen.
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
