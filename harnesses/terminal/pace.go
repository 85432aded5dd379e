package terminal

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// floodTotal is how much all flooding arms together may write without end, in bytes
	// per second. It is some 400 whole pictures a second, far more than agent CLIs draw.
	// From the program that writes to the screen that is drawn, it takes about a fifth
	// of a machine with two cores. Five times as much takes the whole machine. A key
	// typed into another arm then waits at every hand-over.
	floodTotal = 8 << 20
	// floodRate is the largest share of one flooding arm, in bytes per second.
	floodRate = 4 << 20
	// floodBurst is how much an arm may write at once before it counts as flooding, in
	// bytes. It covers the output of a large build, or of a file that somebody prints by
	// mistake. All arms together have the same allowance.
	floodBurst = 32 << 20
	// floodSmall is how much an arm may write at once when the others have used up the
	// common allowance, in bytes.
	floodSmall = 4 << 20
	// floodAhead is how many bytes a holder takes in before they are read here. The bound
	// is small so that a flood is counted early.
	floodAhead = 1 << 20
	// floodPause is how long a flooding arm may be silent before its share goes to the
	// others.
	floodPause = time.Second
)

// Floods divides the output rate among arms that flood their terminals, so that other
// arms are read and answered as before. All sessions of a host agent share one Floods. It
// is safe for concurrent use.
type Floods struct {
	mu    sync.Mutex
	burst bucket
	slow  map[*pace]time.Time // the slowed sessions, and when each wrote last
}

// NewFloods returns a Floods without sessions.
func NewFloods() *Floods { return &Floods{slow: map[*pace]time.Time{}} }

// bucket is an allowance in bytes that refills up to floodBurst. A new one is full.
type bucket struct {
	spent  int64
	filled time.Time // when spent was last updated
}

// take counts n bytes, at a refill rate in bytes per second.
func (b *bucket) take(n int, rate int64, now time.Time) {
	rested := min(max(0, now.Sub(b.filled)), floodBurst/time.Duration(rate)*time.Second)
	back := int64(rested.Seconds() * float64(rate))
	b.spent = min(floodBurst, max(0, b.spent-back)+int64(n))
	b.filled = now
}

// pace is what one session has written recently.
type pace struct {
	bucket
	given int64 // rate in bytes per second that the holder was given; 0: none
	busy  atomic.Bool
}

// take counts output of a session and returns the rate that it must keep to from now on,
// in bytes per second; 0 for none.
func (f *Floods) take(p *pace, n int, now time.Time) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.burst.take(n, floodTotal, now)
	_, slow := f.slow[p]
	rate := int64(floodRate)
	if slow {
		rate = f.share(now)
	}
	p.take(n, rate, now)
	switch {
	case slow && p.spent < floodBurst/2:
		delete(f.slow, p)
		return 0
	case slow, p.spent == floodBurst, p.spent > floodSmall && f.burst.spent == floodBurst:
		if !slow {
			p.spent = floodBurst
		}
		f.slow[p] = now
		return f.share(now)
	}
	return 0
}

// share returns the rate of each arm that floods now. The caller holds mu.
func (f *Floods) share(now time.Time) int64 {
	n := int64(0)
	for _, wrote := range f.slow {
		if now.Sub(wrote) < floodPause {
			n++
		}
	}
	return min(floodRate, floodTotal/max(1, n))
}

// leave removes a session.
func (f *Floods) leave(p *pace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.slow, p)
}

// keepPace gives the holder a new rate when a flood begins, when its share changes and
// when it ends. A holder too old for the request reads all output, up to its own bound.
func (s *session) keepPace(n int, now time.Time) {
	rate := s.harness.shared.floods.take(&s.pace, n, now)
	if rate == s.pace.given || !s.pace.busy.CompareAndSwap(false, true) {
		return
	}
	s.pace.given = rate
	go func() { // the holder may be busy with another request
		defer s.pace.busy.Store(false)
		_ = s.client.Pace(rate)
	}()
}
