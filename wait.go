package coleo

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// WaitFor returns the session's reading as soon as its state is one of want.
// It fails with ETimeout when ctx ends first, and with EExited when the agent
// CLI ends while that is not wanted.
func WaitFor(ctx context.Context, s Session, want ...State) (Reading, error) {
	newest := newestChange(s)
	if now := s.State(); reached(now, want) {
		return now, nil
	} else if now.State == Dead {
		return now, exited(newest)
	}
	return waitAfter(ctx, s, newest.Cursor, want)
}

// NewestCursor returns the position behind all that has happened in a session.
func NewestCursor(s Session) Cursor { return newestChange(s).Cursor }

func newestChange(s Session) (newest Change) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // what is there is yielded, then the end
	for change := range s.Changes(ctx, 0) {
		newest = change
	}
	return newest
}

// WaitForIdle waits until the agent CLI takes input again.
func WaitForIdle(ctx context.Context, s Session) (Reading, error) {
	return WaitFor(ctx, s, Idle)
}

// WaitForTurn waits until the turn that a receipt started has ended: idle,
// error, or a dialog that needs a person.
func WaitForTurn(ctx context.Context, s Session, r Receipt) (Reading, error) {
	return waitAfter(ctx, s, r.Cursor, []State{Idle, Failed, WaitingApproval})
}

// WaitForResponse waits for the end of a receipt's turn and returns the
// answer. A dialog on the way ends the wait with EBlocked.
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

// IsProcessing tells whether the session is in the middle of a turn.
func IsProcessing(s Session) bool { return s.State().State.Working() }

// Blocked is the error for something that a dialog stands in the way of.
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

// reached leaves out a dialog that is announced but not on the screen yet:
// nobody can answer it.
func reached(r Reading, want []State) bool {
	return slices.Contains(want, r.State) && (r.State != WaitingApproval || r.Dialog != nil)
}

func exited(c Change) *Error {
	e := Errorf(EExited, "the agent CLI has ended: %s", c.Note)
	e.Screen = c.Screen
	return e
}
