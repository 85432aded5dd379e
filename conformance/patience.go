package conformance

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// The time limits of the checks are those for a quiet machine. On a loaded or slow machine,
// they are longer by the factor by which the machine is slower.
const (
	// patienceStep is the time between two looks at the load.
	patienceStep = 200 * time.Millisecond
	// hashesPerSecond says how fast the machine was on which the limits were set: one core
	// hashed 64 kB so many times in a second.
	hashesPerSecond = 15_000
	// mostPatience is the largest factor. On a machine that is even slower, checks fail.
	mostPatience = 20
)

// errTimeout is the cause of a context whose patience is at its end.
var errTimeout = fmt.Errorf("timeout: %w", context.DeadlineExceeded)

// patientContext ends with DeadlineExceeded, as a context with a deadline does. The context
// inside it is only canceled. patientContext has a done channel of its own. With that of
// the inner context, contexts derived from patientContext would end with Canceled.
type patientContext struct {
	context.Context
	done chan struct{}
}

func (c patientContext) Done() <-chan struct{} { return c.done }

func (c patientContext) Err() error {
	if context.Cause(c.Context) == errTimeout {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// patient returns a context that ends when d has passed on a quiet machine. A loaded or
// slow machine gets more time.
func patient(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(patienceStep)
		defer tick.Stop()
		for last := time.Now(); d > 0; {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				d -= time.Duration(float64(now.Sub(last)) / slowness(runningTasks()))
				last = now
			}
		}
		cancel(errTimeout)
	}()
	out := patientContext{ctx, make(chan struct{})}
	context.AfterFunc(ctx, func() { close(out.done) })
	return out, func() { cancel(context.Canceled) }
}

// slowness returns the factor by which this machine is slower than a quiet, fast machine
// while the given number of tasks want to run.
func slowness(tasks int) float64 {
	load := max(1, float64(tasks)/float64(runtime.NumCPU()))
	return min(mostPatience, load*ownSlowness())
}

// runningTasks returns how many threads of the machine run or want to run. It returns 0
// where the system does not tell.
func runningTasks() (n int) {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	var minute, five, fifteen float64
	_, _ = fmt.Sscanf(string(raw), "%f %f %f %d/", &minute, &five, &fifteen, &n)
	return n
}

// ownSlowness returns the factor by which this machine is slower without a load. The factor
// is at least 1. ownSlowness measures once, and takes the best of several tries, because
// other programs run too.
var ownSlowness = sync.OnceValue(func() float64 {
	best, block := time.Hour, make([]byte, 64<<10)
	for range 20 {
		began := time.Now()
		for range 10 {
			sha256.Sum256(block)
		}
		best = min(best, time.Since(began))
	}
	return max(1, best.Seconds()/10*hashesPerSecond)
})
