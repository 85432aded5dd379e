package coleo

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// WaitFor waits until the session is in one of the states in want, and returns the
// reading. It returns ETimeout if ctx's deadline passes. It returns ctx's error if ctx
// is cancelled. It returns EExited if the agent CLI ends and want does not contain
// Dead.
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

// newestChange returns the newest change that is not of the kind work, with the cursor of
// the newest change of any kind.
func newestChange(s Session) (newest Change) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // because ctx is cancelled, Changes returns the existing changes and then ends
	for change := range s.Changes(ctx, 0) {
		if change.Kind == ChangeWork { // it does not say how the agent CLI has ended
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

// Blocked returns the error for an action that is impossible while the dialog d is
// open. d is nil if the dialog is unknown.
func Blocked(d *Dialog) *Error {
	if d == nil {
		return Errorf(EBlocked, "a dialog waits for an answer: approve or deny it first")
	}
	what, subject := "a "+string(d.Kind)+" dialog", strings.Join(strings.Fields(d.Subject), " ")
	if d.Kind == DialogOther {
		what = "a dialog"
	}
	if subject != "" {
		subject = " (" + subject + ")"
	}
	e := Errorf(EBlocked, "%s waits for an answer: %q%s; approve or deny it first", what, d.Title, subject)
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

// reached reports whether the state of r is one of the states in want. For
// waiting_approval, the dialog must also be on the screen, because otherwise nobody can
// answer it.
func reached(r Reading, want []State) bool {
	return slices.Contains(want, r.State) && (r.State != WaitingApproval || r.Dialog != nil)
}

func exited(c Change) *Error {
	e := Errorf(EExited, "the agent CLI has ended: %s", c.Note)
	e.Screen = c.Screen
	return e
}
