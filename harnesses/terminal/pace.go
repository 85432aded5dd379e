package terminal

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// floodTotal is what all arms that flood may write together without end, in
	// bytes a second: some 400 whole pictures, far more than agent CLIs draw. It
	// takes about a fifth of a machine with two cores, from the program that
	// writes to the screen that is drawn; five times as much takes all of it, and
	// then a key typed into another arm waits for its turn at every hand-over.
	floodTotal = 8 << 20
	// floodRate is what one of them may have of that.
	floodRate = 4 << 20
	// floodBurst is what an arm may write at once before that, in bytes: the
	// output of a large build, or of a file that somebody prints by mistake. All
	// arms together have no more.
	floodBurst = 32 << 20
	// floodSmall is what an arm may write at once though the others have taken
	// all of that, in bytes.
	floodSmall = 4 << 20
	// floodAhead is what a holder takes in before it was read here, in bytes, so
	// that a flood is counted before much of it is there.
	floodAhead = 1 << 20
	// floodPause is how long an arm that floods may be silent before its share is
	// given to the others.
	floodPause = time.Second
)

// Floods shares out what arms may write that flood their terminals, so that
// other arms are read and answered as before. All sessions of a host agent have
// one in common.
type Floods struct {
	mu    sync.Mutex
	burst bucket
	slow  map[*pace]time.Time // those that are slowed, and when each wrote last
}

// NewFloods returns one without sessions.
func NewFloods() *Floods { return &Floods{slow: map[*pace]time.Time{}} }

// bucket is an allowance in bytes that fills itself up to floodBurst. A new one
// is full.
type bucket struct {
	spent  int64
	filled time.Time // when spent was last brought up to date
}

// take counts n bytes, where rate bytes come back in each second.
func (b *bucket) take(n int, rate int64, now time.Time) {
	rested := min(max(0, now.Sub(b.filled)), floodBurst/time.Duration(rate)*time.Second)
	back := int64(rested.Seconds() * float64(rate))
	b.spent = min(floodBurst, max(0, b.spent-back)+int64(n))
	b.filled = now
}

// pace is what one session has written of late.
type pace struct {
	bucket
	told int64 // bytes a second that the holder was told to keep to; 0: none
	busy atomic.Bool
}

// take counts output of a session and returns the pace that it is to keep from
// now on, in bytes a second; 0 for none.
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

// share is what each of those has that flood now. The caller holds mu.
func (f *Floods) share(now time.Time) int64 {
	n := int64(0)
	for _, wrote := range f.slow {
		if now.Sub(wrote) < floodPause {
			n++
		}
	}
	return min(floodRate, floodTotal/max(1, n))
}

// leave forgets a session.
func (f *Floods) leave(p *pace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.slow, p)
}

// keepPace tells the holder when a flood begins, when its share changes and when
// it is over. A holder that is too old to be told takes in whatever comes, up to
// its own bound.
func (s *session) keepPace(n int, now time.Time) {
	rate := s.h.floods.take(&s.pace, n, now)
	if rate == s.pace.told || !s.pace.busy.CompareAndSwap(false, true) {
		return
	}
	s.pace.told = rate
	go func() { // the holder may be busy with another request
		defer s.pace.busy.Store(false)
		_ = s.client.Pace(rate)
	}()
}
