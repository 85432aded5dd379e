package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
)

// A Check tests, before keys are typed, whether the newest picture is the right one for these keys. It
// returns nil if it is. A Check must not keep the Reader, and must not change it.
type Check func(r *reading.Reader) error

// View is a session as a Typist sees it. It calls a function with a Reader only while nobody else uses
// that Reader.
type View interface {
	// Still waits for a complete picture and runs the check on it, because a half-drawn picture proves
	// nothing. If the check returns a TransientError, Still waits for another picture. After one second of
	// such errors, it returns the last of them. It returns any other error of the check, and an error of ctx,
	// at once. The returned At describes the session as it was when the check last ran.
	Still(ctx context.Context, check Check) (At, error)
	// Await waits for a picture for which the function `accepts` returns true. It reports whether such
	// a picture came within the limit. It stops waiting when the agent CLI ends or ctx is canceled.
	Await(ctx context.Context, limit time.Duration, accepts func(r *reading.Reader) bool) bool
	// Update calls the function `change`, which can record in the Reader what was typed. If `change`
	// returns true, the View looks at the screen again.
	Update(change func(r *reading.Reader) (look bool))
	// Write sends keys to the program, and reports whether they were typed. If ctx has ended, Write types
	// nothing, and returns a CallerGoneError.
	Write(ctx context.Context, k Keys) (typed bool, err error)
}

// Keys are bytes for the program.
type Keys struct {
	ID     string // keys with the same id are typed at most once
	Data   []byte
	IfSeen bool  // type nothing if the program has written output after the offset Seen
	Seen   int64 // end of the output that the caller has seen, in bytes
	// Inside means that the keys change an open dialog without answering it. For example, they tick an
	// option. Until the screen shows this change, a picture without the dialog does not end the dialog.
	Inside bool
}

// At describes a session at the moment when a Check was called.
type At struct {
	Offset     int64        // end of the output that the screen showed, in bytes
	Cursor     coleo.Cursor // number of the newest change
	UpdateOpen bool         // the program was in the middle of a synchronized update
	Looked     <-chan struct{}
}

// lookRetry is the longest time that Wait waits.
const lookRetry = 30 * time.Millisecond

// Wait waits until the session has read the screen again, but for at most 30 ms. If ctx ends first, it
// returns the error of ctx.
func (a At) Wait(ctx context.Context) error {
	retry := time.NewTimer(lookRetry)
	defer retry.Stop()
	select {
	case <-a.Looked:
	case <-retry.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// TransientError is an error of a Check that may disappear by itself, because the agent CLI may just be
// drawing the screen again.
type TransientError struct{ Err error }

func (p TransientError) Error() string { return p.Err.Error() }

// Unwrap returns the error that stays if the picture does not change.
func (p TransientError) Unwrap() error { return p.Err }

// CallerGoneError is the error for keys that were not typed because their caller has stopped waiting.
type CallerGoneError struct{ Err error }

func (u CallerGoneError) Error() string { return u.Err.Error() }

// Unwrap returns the reason why nobody waits for the keys.
func (u CallerGoneError) Unwrap() error { return u.Err }

// find calls the function `look` with the Reader of the newest complete picture. It returns the result
// of that call, or the error of View.Still.
func find[T any](ctx context.Context, v View, look func(*reading.Reader) (T, error)) (T, At, error) {
	var found T
	at, err := v.Still(ctx, func(r *reading.Reader) (err error) {
		found, err = look(r)
		return err
	})
	return found, at, err
}

// await calls the function `look` with each new picture, until `look` reports that it is done or the limit
// has passed. await returns the last value that `look` found, and whether `look` was done in time.
func await[T any](ctx context.Context, v View, limit time.Duration,
	look func(*reading.Reader) (found T, done bool)) (T, bool) {
	var found T
	hit := v.Await(ctx, limit, func(r *reading.Reader) (done bool) {
		found, done = look(r)
		return done
	})
	return found, hit
}

// peek calls the function `look` with the present picture, even if the picture is incomplete. It returns
// the result of that call.
func peek[T any](v View, look func(*reading.Reader) T) T {
	var found T
	v.Update(func(r *reading.Reader) bool {
		found = look(r)
		return false
	})
	return found
}
