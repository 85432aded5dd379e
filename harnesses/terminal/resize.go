package terminal

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
)

const (
	// resizeGap is the shortest time between two sizes that a program is given. Some
	// programs gather sizes: OpenCode 1.18.33 does so for 100 ms. What such a program draws
	// meanwhile is for the earlier size. If the earlier size comes back in that time, the
	// program does not draw again.
	resizeGap = 250 * time.Millisecond
	// resizeLimit is how long a size is waited for that the program is known to show. A
	// loaded machine takes over a second. A program that is stopped would take for ever.
	resizeLimit = 10 * time.Second
)

// sizes says when a program is given its next size.
type sizes struct {
	mu    sync.Mutex
	given time.Time   // when the last size was given
	timer *time.Timer // gives the next size; nil: none is pending
	next  past.Size

	awaited bool   // the program has not shown the last size yet, and it shows each
	frames  uint64 // the screen's WholeFrames when the last size was given
}

// postpone keeps a size for later if the last one was given within resizeGap, or is still
// awaited. It reports whether it did. It calls give when that time is over, once for all
// sizes that come until then.
func (z *sizes) postpone(size past.Size, give func()) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	wait := resizeGap
	if z.awaited {
		wait = resizeLimit
	}
	left := wait - time.Since(z.given)
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

// await says that a size is about to be given on a screen with that many whole frames.
// shows says that the program will show the size by a whole frame.
func (z *sizes) await(frames uint64, shows bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.frames, z.awaited = frames, shows
}

// note says that a size was given, or that giving it failed.
func (z *sizes) note(failed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.given, z.awaited = time.Now(), z.awaited && !failed
}

// shown says how many whole frames the screen has shown. After another one, the program
// has shown the last size. The next one is then given as soon as the gap allows.
func (z *sizes) shown(frames uint64) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if !z.awaited || frames == z.frames {
		return
	}
	z.awaited = false
	if z.timer != nil && z.timer.Stop() {
		z.timer.Reset(max(0, resizeGap-time.Since(z.given)))
	}
}

// stop stops the timer of a postponed size, and reports whether there was one.
func (z *sizes) stop() bool {
	z.mu.Lock()
	timer := z.timer
	z.mu.Unlock()
	return timer != nil && timer.Stop()
}

// Resize gives the screen and the program another size. A size that comes within
// resizeGap of another one is given later, when that gap is over. A program that shows
// each size by a whole frame is given the next one when it has done so, or after
// resizeLimit. Resize then returns nil at once, only the newest size is given, and an
// error of the later call is dropped.
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
	s.sizes.note(err != nil)
	if err != nil {
		r, unlock := s.live.lock()
		defer unlock()
		r.Core().Resize(was.Cols, was.Rows)
	}
	return err
}

// resizeScreen gives the screen a size, and returns the size that it had. If the program
// shows each size, the size is awaited from here on.
func (s *session) resizeScreen(size past.Size) (was past.Size) {
	r, unlock := s.live.lock()
	defer unlock()
	was.Cols, was.Rows = r.Core().Size()
	r.Core().Resize(size.Cols, size.Rows)
	// A program that has the size already draws nothing.
	s.sizes.await(r.Core().WholeFrames(), s.rules().WholeAfterResize && size != was)
	return was
}
