// Package patience gives the checks of harnesses their time limits. The limits were chosen for a quiet, fast
// machine. On a loaded or slow machine, they are multiplied by the machine's slowness.
package patience

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

const (
	// loadStep is the time between two measurements of the load.
	loadStep = 200 * time.Millisecond
	// hashesPerSecond describes the machine for which the time limits were chosen. One core of that
	// machine hashed 64 kB this many times per second.
	hashesPerSecond = 15_000
	// mostPatience is the largest factor by which a time limit is multiplied. On a
	// machine that is even slower, checks fail.
	mostPatience = 20
)

// errTimeout is the cause of a patientContext that has ended because its time is over.
var errTimeout = fmt.Errorf("timeout: %w", context.DeadlineExceeded)

// patientContext is a context that lasts longer on a loaded machine. Like a context with a deadline, it ends
// with DeadlineExceeded. Its inner context can only be canceled. If Done returned the channel of the inner
// context, contexts derived from a patientContext would end with Canceled. So a patientContext has a channel of
// its own.
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

// With returns a context that ends after the time d, or later on a loaded or slow machine.
func With(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(loadStep)
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

// slowness returns how many times slower this machine is than a quiet, fast one. `threadCount` is the number of
// threads that run or want to run. The result is at most mostPatience.
func slowness(threadCount int) float64 {
	load := max(1, float64(threadCount)/float64(runtime.NumCPU()))
	return min(mostPatience, load*ownSlowness())
}

// runningTasks returns how many threads of the machine run or want to run. If the
// system does not report this number, runningTasks returns 0.
func runningTasks() (n int) {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	var minute, five, fifteen float64
	_, _ = fmt.Sscanf(string(raw), "%f %f %f %d/", &minute, &five, &fifteen, &n)
	return n
}

// ownSlowness returns how many times slower this machine is than a fast machine, if neither machine
// has any load. The result is at least 1. It is measured only once, as the best of several tries,
// because other programs can slow down a try.
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
