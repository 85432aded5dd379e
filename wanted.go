package coleo

import (
	"context"
	"time"
)

// waiting is the key of WithLeft in a context.
type waiting struct{}

// WithLeft returns a context for an order that somebody waits for. left returns how much
// longer that is certain. The time may grow when the sender confirms that it still waits.
func WithLeft(ctx context.Context, left func() time.Duration) context.Context {
	return context.WithValue(ctx, waiting{}, left)
}

// Left returns how much longer something may be typed on behalf of ctx. That is the time
// until ctx's deadline, or the time for which somebody is sure to wait, whichever is
// shorter. The second result is false if there is no bound.
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

// Wanted returns nil while somebody waits for what is done on behalf of ctx. A caller
// that types calls it right before each write. Wanted reads the clock itself, because a
// process that was stopped and continued finds its timers late. It returns ETimeout when
// the time is over, and ctx's error when ctx was cancelled.
func Wanted(ctx context.Context) error {
	if left, bounded := Left(ctx); bounded && left <= 0 {
		return Errorf(ETimeout, "the caller no longer waits for this: nothing more was typed")
	}
	return ctx.Err()
}
