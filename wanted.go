package coleo

import (
	"context"
	"time"
)

// waiting is the key of WithLeft in a context.
type waiting struct{}

// WithLeft returns a context for an order that somebody waits for. left returns
// for how much longer that is certain; it may grow as the one who waits says so
// again.
func WithLeft(ctx context.Context, left func() time.Duration) context.Context {
	return context.WithValue(ctx, waiting{}, left)
}

// Left returns for how much longer something may be typed on behalf of ctx: until
// its deadline, or as long as somebody is sure to wait for it, whichever is
// shorter. The second result is false where nothing bounds it.
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

// Wanted returns nil while somebody waits for what is done on behalf of ctx.
// Whoever types asks right before each thing that it types. Wanted looks at the
// clock itself: a process that was stopped and goes on finds its timers late.
// Errors: ETimeout, or that of ctx when it was cancelled.
func Wanted(ctx context.Context) error {
	if left, bounded := Left(ctx); bounded && left <= 0 {
		return Errorf(ETimeout, "nobody waits for this any longer: nothing more was typed")
	}
	return ctx.Err()
}
