package display

import (
	"context"
	"slices"
	"sync"
	"time"
)

// These are the usual times of a Coalescer. With them, a person sees a change within half a second,
// and a page draws at most four times a second.
const (
	Window  = 250 * time.Millisecond // Next returns a key that has not changed for this long
	MaxWait = 500 * time.Millisecond // Next returns a key at most this long after its first change
)

// Clock is a source of time.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives a value after the duration d.
	After(d time.Duration) <-chan time.Time
}

// System is the system clock.
type System struct{}

// Now returns the present time.
func (System) Now() time.Time { return time.Now() }

// After returns a channel that receives the time after the duration d.
func (System) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Coalescer bundles changes. Each change has a key. Next returns a key when the key has not changed for the
// duration `window`, and at the latest maxWait after the key's first change. Next returns the key only once
// for all these changes. Several goroutines can call Changed, but only one goroutine may call Next.
type Coalescer struct {
	window, most time.Duration
	clock        Clock

	mu      sync.Mutex
	waiting map[string]span
	woken   chan struct{} // wakes Next; its buffer has room for one value
}

// span contains the times of the first and the last change that Next has not yet reported.
type span struct{ first, last time.Time }

// NewCoalescer returns a Coalescer with the given times. If clock is nil, the Coalescer uses the
// system clock.
func NewCoalescer(window, maxWait time.Duration, clock Clock) *Coalescer {
	if clock == nil {
		clock = System{}
	}
	return &Coalescer{window: window, most: maxWait, clock: clock, waiting: map[string]span{},
		woken: make(chan struct{}, 1)}
}

// Changed records a change of the key. It never waits.
func (c *Coalescer) Changed(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	s, ok := c.waiting[key]
	if !ok {
		s.first = now
	}
	s.last = now
	if c.waiting[key] = s; ok {
		// an earlier change of the key has already woken Next, or will wake it; Next then sees the later time
		return
	}
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// Next waits until some keys are due, and returns these keys, sorted. If ctx ends first, it returns
// the error of ctx.
func (c *Coalescer) Next(ctx context.Context) ([]string, error) {
	for {
		due, wait := c.due()
		if len(due) > 0 {
			return due, nil
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = c.clock.After(wait)
		}
		select {
		case <-timer:
		case <-c.woken:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// due removes and returns the keys that are due. If no key is due, it returns the time until the
// next key is due. That time is 0 if there are no keys.
func (c *Coalescer) due() (keys []string, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for key, s := range c.waiting {
		at := s.last.Add(c.window)
		if latest := s.first.Add(c.most); latest.Before(at) {
			at = latest
		}
		switch left := at.Sub(now); {
		case left <= 0:
			keys = append(keys, key)
			delete(c.waiting, key)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	slices.Sort(keys)
	return keys, wait
}
