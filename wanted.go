package coleo

import (
	"context"
	"time"
)

// waiting is the key of WithLeft in a context.
type waiting struct{}

// WithLeft returns a context for an order whose sender waits for the result. The function
// left says for how much longer the sender will certainly wait. Each time the sender
// confirms that it still waits, left returns a longer time again.
func WithLeft(ctx context.Context, left func() time.Duration) context.Context {
	return context.WithValue(ctx, waiting{}, left)
}

// Left returns for how much longer Coleo may type on behalf of ctx. Two bounds apply: the
// deadline of ctx, and the time from WithLeft for which the sender will certainly wait.
// Left returns the shorter time. If ctx has neither bound, the second result is false.
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

// Wanted returns nil if Coleo may still type on behalf of ctx. Call Wanted right before
// each write to a terminal. If the time of Left is over, Wanted returns ETimeout. If
// ctx was cancelled, Wanted returns ctx's error. Wanted reads the clock itself, because
// timers fire late in a process that was stopped and continued.
func Wanted(ctx context.Context) error {
	if left, bounded := Left(ctx); bounded && left <= 0 {
		return Errorf(ETimeout, "the caller no longer waits for this: nothing more was typed")
	}
	return ctx.Err()
}
