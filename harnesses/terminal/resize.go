package terminal

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
)

const (
	// resizeGap is the shortest time between two sizes that are given to a program.
	// Some programs wait for further sizes before they draw. OpenCode 1.18.33 waits for
	// 100 ms. What such a program draws during that time is for the earlier size. If
	// the earlier size comes back during that time, the program does not draw again.
	resizeGap = 250 * time.Millisecond
	// resizeLimit is how long Coleo waits for a program to show its size, if the
	// program is known to show each size. On a loaded machine this takes over a second.
	// A program that is stopped would never show its size.
	resizeLimit = 10 * time.Second
	// pictureGap is how long a program must write nothing until it counts as not drawing.
	// While they work, agent CLIs draw about ten times a second.
	pictureGap = 150 * time.Millisecond
	// pictureLimit bounds the wait for the end of a picture. Some programs never pause.
	pictureLimit = 500 * time.Millisecond
)

// sizes decides when a program gets the next size of its terminal.
type sizes struct {
	mu    sync.Mutex
	given time.Time   // when the last size was given
	timer *time.Timer // gives the next size; nil: no size is pending
	next  past.Size   // the size that is pending

	awaited bool   // the program shows each size, and has not shown the last one yet
	frames  uint64 // the screen's WholeFrames at the time when the last size was given
}

// postpone decides whether size must wait. The size waits if another one is pending, if
// the last one was given within resizeGap, if the program has not yet shown the last one,
// or if typing is true. postpone returns true if the size must wait. It calls give when
// the wait for the last size is over. It calls give only once for all sizes that come
// during the wait.
func (z *sizes) postpone(size past.Size, typing bool, give func()) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	wait := resizeGap
	if z.awaited {
		wait = resizeLimit
	}
	left := wait - time.Since(z.given)
	if z.timer == nil && !typing && left <= 0 {
		z.given = time.Now()
		return false
	}
	z.next = size
	if z.timer == nil {
		z.timer = time.AfterFunc(max(0, left), give)
	}
	return true
}

// take returns the size that was postponed, if it is still pending. The wait for the next
// size begins at this moment.
func (z *sizes) take() (size past.Size, pending bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.timer == nil {
		return past.Size{}, false
	}
	z.timer.Stop()
	z.timer, z.given = nil, time.Now()
	return z.next, true
}

// await notes that a size is about to be given. The argument frames is the number of
// whole frames that the screen has shown. The argument shows tells whether the program
// will show the size by a whole frame.
func (z *sizes) await(frames uint64, shows bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.frames, z.awaited = frames, shows
}

// note notes that a size was given, or that an attempt to give it failed.
func (z *sizes) note(failed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.given, z.awaited = time.Now(), z.awaited && !failed
}

// shown notes how many whole frames the screen has shown. If there was a new frame since
// the last size was given, the program has drawn for that size. The program then gets the
// next size as soon as resizeGap has passed.
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

// changing reports whether the next size would have to wait.
func (z *sizes) changing() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.timer != nil || z.awaited || time.Since(z.given) < resizeGap
}

// Resize gives the screen and the program another size. In three cases the size is given
// later, and Resize returns nil at once:
//   - A size comes within resizeGap of another size.
//   - The program shows each size by a whole frame, and has not shown the last size yet.
//     It gets the next one when it has, or after resizeLimit.
//   - Something is being typed. Codex 0.169.0 panics if its size changes while it takes a
//     paste.
//
// Of several postponed sizes, only the newest is given. If that fails later, the error is
// dropped.
func (s *session) Resize(_ context.Context, cols, rows int) error {
	resume, free := s.typist.TryPause()
	if free {
		defer resume()
	}
	size := past.Size{Cols: cols, Rows: rows}
	if s.sizes.postpone(size, !free, s.resizeAfterTyping) {
		return nil
	}
	return s.resize(size)
}

// resizeAfterTyping gives the size that was postponed. It first waits until nothing is
// typed.
func (s *session) resizeAfterTyping() {
	defer s.typist.Pause()()
	s.resizePostponed()
}

// resizePostponed gives the size that was postponed, if it is still pending.
func (s *session) resizePostponed() {
	size, pending := s.sizes.take()
	if !pending || s.State().State == coleo.Dead || s.ctx.Err() != nil {
		return
	}
	// If the holder does not answer, the callers that wait for the holder report the
	// error.
	_ = s.resize(size)
}

// resize gives the new size to the screen first and to the program second, as terminals
// do. What the program draws for the new size must not be read with the old size. The
// program gets the size between two pictures.
func (s *session) resize(size past.Size) error {
	s.awaitPictureEnd()
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

// awaitPictureEnd waits until the program has just completed a picture, or draws nothing.
// A program that gets a smaller size while it draws a picture may draw the rest of it
// outside of the screen. Codex 0.169.0 then ends with an error.
func (s *session) awaitPictureEnd() {
	limit, quiet := time.NewTimer(pictureLimit), time.NewTimer(pictureGap)
	defer limit.Stop()
	defer quiet.Stop()
	r, unlock := s.live.lock()
	first := r.End()
	unlock()
	for last := first; ; {
		w, unlock := s.live.watch()
		end, whole, looked := w.End(), w.UntilWhole(time.Now()) == 0, w.next()
		unlock()
		if whole && end > first {
			return
		}
		if end > last {
			last = end
			quiet.Reset(pictureGap)
		}
		select {
		case <-looked:
		case <-quiet.C:
			return
		case <-limit.C:
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// resizeScreen gives the screen a size. It returns the size that the screen had before.
// If the program shows each size, resizeScreen also begins to wait until this size is
// shown.
func (s *session) resizeScreen(size past.Size) (was past.Size) {
	r, unlock := s.live.lock()
	defer unlock()
	was.Cols, was.Rows = r.Core().Size()
	r.Core().Resize(size.Cols, size.Rows)
	// A program that already has the size draws nothing.
	s.sizes.await(r.Core().WholeFrames(), s.rules().WholeAfterResize && size != was)
	return was
}
