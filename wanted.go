package coleo

import (
	"context"
	"time"
)

// waiting is the key of WithUntil in a context.
type waiting struct{}

// WithUntil returns a context for an order that somebody waits for. until
// returns the time up to which that is certain; it may grow as the one who waits
// says so again.
func WithUntil(ctx context.Context, until func() time.Time) context.Context {
	return context.WithValue(ctx, waiting{}, until)
}

// Until returns the time after which nothing may be typed on behalf of ctx: its
// deadline, or the time up to which somebody is sure to wait for it, whichever is
// earlier. It is zero where nothing bounds it.
func Until(ctx context.Context) time.Time {
	end, _ := ctx.Deadline()
	until, ok := ctx.Value(waiting{}).(func() time.Time)
	if !ok {
		return end
	}
	if t := until(); end.IsZero() || t.Before(end) {
		return t
	}
	return end
}

// Wanted returns nil while somebody waits for what is done on behalf of ctx.
// Whoever types asks right before each thing that it types. Wanted looks at the
// clock itself: a process that was stopped and goes on finds its timers late.
// Errors: ETimeout, or that of ctx when it was cancelled.
func Wanted(ctx context.Context) error {
	if end := Until(ctx); !end.IsZero() && !time.Now().Before(end) {
		return Errorf(ETimeout, "nobody waits for this any longer: nothing more was typed")
	}
	return ctx.Err()
}
