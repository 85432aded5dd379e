package terminal

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// floodTotal is the highest long-term rate of all flooding arms together, in bytes of output per
	// second. It is enough for about 400 complete pictures a second, far more than agent CLIs draw.
	// At this rate, the writing programs and Coleo together need about a fifth of a machine with two
	// cores. At five times this rate, they need the whole machine, and keys reach the other arms
	// late.
	floodTotal = 8 << 20
	// floodRate is the highest rate of one flooding arm, in bytes per second.
	floodRate = 4 << 20
	// floodBurst is how many bytes an arm may write in a short time before it counts as flooding. It is enough
	// for the output of a large build, or for a file that somebody prints by mistake. All arms together share
	// one further allowance of this size, the common allowance.
	floodBurst = 32 << 20
	// floodSmall replaces floodBurst for each arm after all arms together have used up the common allowance.
	floodSmall = 4 << 20
	// floodAhead is the largest number of bytes that a holder may read from the program before the
	// session reads them. It is small, so that the session notices a flood early.
	floodAhead = 1 << 20
	// floodPause is how long a flooding arm must be silent before the other arms receive its share.
	floodPause = time.Second
)

// Floods divides the output rate among the arms that flood their terminals, so that Coleo can read
// and answer other arms as usual. All sessions of a host agent share one Floods. It is safe for
// concurrent use.
type Floods struct {
	mu    sync.Mutex
	burst bucket
	slow  map[*pace]time.Time // when each flooding session last wrote output
}

// NewFloods returns a Floods that has no sessions.
func NewFloods() *Floods { return &Floods{slow: map[*pace]time.Time{}} }

// bucket is an allowance in bytes that refills up to floodBurst. A new bucket is full.
type bucket struct {
	spent  int64
	filled time.Time // when the field `spent` was last updated
}

// spend removes n bytes from the bucket, which refills at the given rate in bytes per second.
func (b *bucket) spend(n int, rate int64, now time.Time) {
	rested := min(max(0, now.Sub(b.filled)), floodBurst/time.Duration(rate)*time.Second)
	back := int64(rested.Seconds() * float64(rate))
	b.spent = min(floodBurst, max(0, b.spent-back)+int64(n))
	b.filled = now
}

// pace counts the output that one session has recently received.
type pace struct {
	bucket
	given int64 // the rate in bytes per second that was last sent to the holder; 0: no limit
	busy  atomic.Bool
}

// limitFor counts n bytes of output of a session. It returns the session's highest allowed rate in
// bytes per second, or 0 if there is no limit.
func (f *Floods) limitFor(p *pace, n int, now time.Time) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.burst.spend(n, floodTotal, now)
	_, slow := f.slow[p]
	rate := int64(floodRate)
	if slow {
		rate = f.share(now)
	}
	p.spend(n, rate, now)
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

// share returns the present rate of each flooding arm. The caller must hold mu.
func (f *Floods) share(now time.Time) int64 {
	n := int64(0)
	for _, wrote := range f.slow {
		if now.Sub(wrote) < floodPause {
			n++
		}
	}
	return min(floodRate, floodTotal/max(1, n))
}

// leave removes a session from the flooding sessions.
func (f *Floods) leave(p *pace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.slow, p)
}

// keepPace counts `n` bytes of output. Whenever the session's highest allowed rate has changed, keepPace
// sends the new rate to the holder. The rate changes when a flood begins, when the arm's share changes, and
// when the flood ends.
//
// A holder of an old version may not know the command that sets the rate. Such a holder reads the program's
// output as fast as it can. But it stops when it is ahead of the session by the number of bytes that was
// given to Client.Lead.
func (s *session) keepPace(n int, now time.Time) {
	rate := s.harness.shared.floods.limitFor(&s.pace, n, now)
	if rate == s.pace.given || !s.pace.busy.CompareAndSwap(false, true) {
		return
	}
	s.pace.given = rate
	go func() { // in the background, because the holder may be busy with another request
		defer s.pace.busy.Store(false)
		_ = s.client.Pace(rate)
	}()
}
