package timelimit

import (
	"context"
	"time"

	"coleo.dev"
)

// waiting is the key under which With stores its function in a context.
type waiting struct{}

// With returns a context for an order whose sender waits for the result. The given function
// must return how much longer the sender will certainly wait. This time increases each time the
// sender confirms that it still waits.
func With(ctx context.Context, left func() time.Duration) context.Context {
	return context.WithValue(ctx, waiting{}, left)
}

// Left returns how much longer Coleo may type for the order of ctx. This is the shorter of two times: the time
// until ctx's deadline, and the result of the function that was passed to With. If ctx has neither, Left
// returns false.
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

// Check returns nil if Coleo may still type for the order of ctx. Call Check just before each write to a
// terminal. It returns coleo.ETimeout if Left reports that no time is left, and ctx's error if ctx was
// cancelled. Check reads the clock itself, because timers fire late in a process that was stopped and
// continued.
func Check(ctx context.Context) error {
	if left, bounded := Left(ctx); bounded && left <= 0 {
		return coleo.Errorf(coleo.ETimeout, "the caller no longer waits for this: nothing more was typed")
	}
	return ctx.Err()
}
