package terminal

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
)

// resizeGap is the shortest time between two sizes that a program is given. Some programs
// gather sizes: OpenCode 1.18.33 does so for 100 ms. What such a program draws meanwhile
// is for the earlier size. If the earlier size comes back in that time, the program does
// not draw again.
const resizeGap = 250 * time.Millisecond

// sizes says when a program is given its next size.
type sizes struct {
	mu    sync.Mutex
	given time.Time   // when the last size was given
	timer *time.Timer // gives the next size; nil: none is pending
	next  past.Size
}

// postpone keeps a size for later if the last one was given within resizeGap, and reports
// whether it did. It calls give when that gap is over, once for all sizes that come until
// then.
func (z *sizes) postpone(size past.Size, give func()) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	left := resizeGap - time.Since(z.given)
	if left <= 0 {
		z.given = time.Now()
		return false
	}
	z.next = size
	if z.timer == nil {
		z.timer = time.AfterFunc(left, give)
	}
	return true
}

// take returns the size that was postponed. A newer size waits from here on.
func (z *sizes) take() past.Size {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.timer, z.given = nil, time.Now()
	return z.next
}

// note says that a size was given.
func (z *sizes) note() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.given = time.Now()
}

// stop stops the timer of a postponed size, and reports whether there was one.
func (z *sizes) stop() bool {
	z.mu.Lock()
	timer := z.timer
	z.mu.Unlock()
	return timer != nil && timer.Stop()
}

// Resize gives the screen and the program another size. A size that comes within
// resizeGap of another one is given later, when that gap is over. Resize then returns nil
// at once, only the newest size is given, and an error of the later call is dropped.
func (s *session) Resize(_ context.Context, cols, rows int) error {
	size := past.Size{Cols: cols, Rows: rows}
	if s.sizes.postpone(size, s.resizePostponed) {
		return nil
	}
	return s.resize(size)
}

// resizePostponed gives the size that was postponed.
func (s *session) resizePostponed() {
	size := s.sizes.take()
	if s.State().State == coleo.Dead || s.ctx.Err() != nil {
		return
	}
	// When the holder does not answer, the callers that wait for it report that.
	_ = s.resize(size)
}

// resizeNow gives a postponed size at once.
func (s *session) resizeNow() {
	if s.sizes.stop() {
		s.resizePostponed()
	}
}

// resize gives the screen its size before the program, as terminals do. What the program
// draws for the new size must not be read at the old one.
func (s *session) resize(size past.Size) error {
	was := s.resizeScreen(size)
	err := s.client.Resize(size.Cols, size.Rows)
	s.sizes.note()
	if err != nil {
		s.resizeScreen(was)
	}
	return err
}

// resizeScreen gives the screen a size, and returns the size that it had.
func (s *session) resizeScreen(size past.Size) (was past.Size) {
	r, unlock := s.live.lock()
	defer unlock()
	was.Cols, was.Rows = r.Core().Size()
	r.Core().Resize(size.Cols, size.Rows)
	return was
}
