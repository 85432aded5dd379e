package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
)

// Check returns nil when keys that are about to be typed are meant for the newest picture.
// It must not keep the Reader, and must not change it.
type Check func(r *reading.Reader) error

// View is a session as a Typist sees it. It calls each function that gets a Reader while
// nobody else uses that Reader.
type View interface {
	// Still looks at the screen and calls check with the newest whole picture: half of a
	// picture proves nothing. While the check returns a Passing, Still waits for another
	// picture, up to a second. It returns the error of the check, or that of ctx. At is
	// where the session was when the check was called last.
	Still(ctx context.Context, check Check) (At, error)
	// Await calls ok on each new picture until it returns true, and reports whether it
	// did within limit. It stops waiting when the agent CLI ends or ctx is cancelled.
	Await(ctx context.Context, limit time.Duration, ok func(r *reading.Reader) bool) bool
	// Update calls change, which may tell the Reader what was typed. If change returns
	// true, the screen is looked at again.
	Update(change func(r *reading.Reader) (look bool))
	// Write sends keys to the program, and reports whether they were typed. The error is
	// an Unwanted if ctx no longer wants them.
	Write(ctx context.Context, k Keys) (typed bool, err error)
}

// Keys are bytes for the program.
type Keys struct {
	ID     string // keys with one id are typed once at most
	Data   []byte
	IfSeen bool  // type nothing if there is output after Seen
	Seen   int64 // end of the output that the writer had seen, in bytes
}

// At is where a session was when a check was called.
type At struct {
	Offset     int64        // end of the output that the screen showed, in bytes
	Cursor     coleo.Cursor // number of the newest change
	UpdateOpen bool         // the program was in the middle of a synchronized update
	Looked     <-chan struct{}
}

// lookRetry is how long a wait for the next look at the screen lasts at most.
const lookRetry = 30 * time.Millisecond

// Wait waits for the next look at the screen, for 30 ms at most. It returns the error of
// ctx when that ends first.
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

// Passing is a check's error for a picture that may show a screen being redrawn.
type Passing struct{ Err error }

func (p Passing) Error() string { return p.Err.Error() }

// Unwrap returns the error that stays if the picture does.
func (p Passing) Unwrap() error { return p.Err }

// Unwanted is the error for keys that were not typed because nobody waits for them any
// longer.
type Unwanted struct{ Err error }

func (u Unwanted) Error() string { return u.Err.Error() }

// Unwrap returns why nobody waits.
func (u Unwanted) Unwrap() error { return u.Err }

// find calls look on the newest whole picture, and returns what it found there.
func find[T any](ctx context.Context, v View, look func(*reading.Reader) (T, error)) (T, At, error) {
	var found T
	at, err := v.Still(ctx, func(r *reading.Reader) (err error) {
		found, err = look(r)
		return err
	})
	return found, at, err
}

// await calls look on each new picture until done, for at most limit. It returns what look
// found last, and whether it was done.
func await[T any](ctx context.Context, v View, limit time.Duration,
	look func(*reading.Reader) (found T, done bool)) (T, bool) {
	var found T
	hit := v.Await(ctx, limit, func(r *reading.Reader) (done bool) {
		found, done = look(r)
		return done
	})
	return found, hit
}

// peek returns what look finds at this moment, whether the picture is whole or not.
func peek[T any](v View, look func(*reading.Reader) T) T {
	var found T
	v.Update(func(r *reading.Reader) bool {
		found = look(r)
		return false
	})
	return found
}
