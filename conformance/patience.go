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

// The bounds of the checks are those of a quiet machine. On a loaded or slow machine, an
// agent CLI gets as much more time as the machine is slower.
const (
	// patienceStep is the time between two looks at the load.
	patienceStep = 200 * time.Millisecond
	// hashesPerSecond is how often the machine on which the bounds were set hashes 64 kB
	// in a second, with one core.
	hashesPerSecond = 15_000
	// mostPatience is the largest factor. A machine that is slower does nothing in time.
	mostPatience = 20
)

// errTimeout is the cause of a context whose patience is at its end.
var errTimeout = fmt.Errorf("timeout: %w", context.DeadlineExceeded)

// patientContext ends like a context with a deadline. It has a channel of its own: else a
// context below it would end as the one within.
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

// slowness returns how many times slower than a quiet, fast machine this machine is while
// so many tasks want to run.
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

// ownSlowness returns how many times slower this machine is without a load, but never less
// than 1. It measures once, and takes the best of several tries, because other programs
// run too.
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
