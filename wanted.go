package coleo

import (
	"context"
	"time"
)

// waiting is the key under which WithLeft stores its function in a context.
type waiting struct{}

// WithLeft returns a context for an order whose sender waits for the result. A call of
// left() returns how much longer the sender is certain to wait. Each time the sender
// confirms that it still waits, this time becomes longer.
func WithLeft(ctx context.Context, left func() time.Duration) context.Context {
	return context.WithValue(ctx, waiting{}, left)
}

// Left returns for how much longer Coleo is allowed to type for ctx. This is the
// shorter one of two times: the time until ctx's deadline, and the result of the
// function in WithLeft. If ctx has neither, Left returns false.
func Left(ctx context.Context) (time.Duration, bool) {
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

// Wanted returns nil if Coleo is still allowed to type for ctx. Call Wanted just before
// each write to a terminal. Wanted returns ETimeout if the time from Left is over. It
// returns ctx's error if ctx was cancelled. Wanted reads the clock itself, because
// timers fire late in a process that was stopped and continued.
func Wanted(ctx context.Context) error {
	if left, bounded := Left(ctx); bounded && left <= 0 {
		return Errorf(ETimeout, "the caller no longer waits for this: nothing more was typed")
	}
	return ctx.Err()
}
