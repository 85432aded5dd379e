package patience

import (
	"context"
	"errors"
	"testing"
	"time"

	"coleo.dev"
)

func TestALoadedMachineGetsMoreTime(t *testing.T) {
	t.Parallel()
	quiet := slowness(0)
	if quiet < 1 || quiet > mostPatience {
		t.Errorf("without a load the machine is %.1f times slower", quiet)
	}
	if busy := slowness(1000); busy <= quiet || busy > mostPatience {
		t.Errorf("with a thousand tasks the machine is %.1f times slower, and without %.1f", busy, quiet)
	}
}

// When the time of a context has passed, its waiting caller must see an exceeded deadline. When the context is
// canceled before that, the caller must see a cancellation.
func TestTheEndOfPatienceIsADeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := With(t.Context(), time.Millisecond)
	defer cancel()
	child, stop := context.WithCancel(ctx)
	defer stop()
	<-child.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) ||
		!errors.Is(context.Cause(child), errTimeout) {
		t.Errorf("the context ended with %v, its child with %v because of %v", ctx.Err(), child.Err(), context.Cause(child))
	}
	ctx, cancel = With(t.Context(), time.Hour)
	cancel()
	if <-ctx.Done(); !errors.Is(ctx.Err(), context.Canceled) || coleo.ErrorCode(ctx.Err()) == coleo.ETimeout {
		t.Errorf("a context that was cancelled ended with %v", ctx.Err())
	}
}
