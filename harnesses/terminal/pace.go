package terminal

import (
	"sync/atomic"
	"time"
)

const (
	// floodRate is what an arm may write without end, in bytes a second: some
	// 200 whole pictures, far more than any agent CLI draws. Ten arms that write
	// as fast as they can take less than half of a small machine then.
	floodRate = 4 << 20
	// floodBurst is what it may write at once before that, in bytes: the output
	// of a large build, or of a file that somebody prints by mistake.
	floodBurst = 32 << 20
)

// pace slows down an arm that floods its terminal, so that the others are read
// and answered as before.
type pace struct {
	left   int64     // of the burst, in bytes
	filled time.Time // when left was last brought up to date; zero: never
	slow   bool      // the holder was told to keep to floodRate
	busy   atomic.Bool
}

// take counts output, and tells whether the arm's pace is to change.
func (p *pace) take(n int, now time.Time) bool {
	if p.filled.IsZero() {
		p.filled, p.left = now, floodBurst
	}
	rested := min(now.Sub(p.filled), floodBurst/floodRate*time.Second)
	p.left = min(floodBurst, p.left+int64(rested*floodRate/time.Second))
	p.filled = now
	p.left = max(0, p.left-int64(n))
	return !p.slow && p.left == 0 || p.slow && p.left >= floodBurst/2
}

// keepPace tells the holder when a flood begins and when it is over. A holder
// that is too old to be told takes in whatever comes, up to its own bound.
func (s *session) keepPace(n int, now time.Time) {
	if !s.pace.take(n, now) || !s.pace.busy.CompareAndSwap(false, true) {
		return
	}
	s.pace.slow = !s.pace.slow
	rate := int64(0)
	if s.pace.slow {
		rate = floodRate
	}
	go func() { // the holder may be busy with another request
		defer s.pace.busy.Store(false)
		_ = s.client.Pace(rate)
	}()
}
