package terminal

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
)

const (
	// resizeGap is the shortest time between two sizes that Coleo gives to a program. After a new size, some
	// programs wait for further sizes before they draw: OpenCode 1.18.33 waits for 100 ms. If OpenCode
	// receives its old size again within these 100 ms, it draws nothing new.
	resizeGap = 250 * time.Millisecond
	// resizeLimit is how long Coleo waits until a program has drawn for its last size. It applies to programs
	// that draw a whole frame for each size. On a loaded machine, such a frame takes over a second. The time
	// is limited because a stopped program never draws.
	resizeLimit = 10 * time.Second
	// pictureGap is how long the output must pause before the program's picture counts as complete.
	// It is longer than the 100 ms between two pictures of a working agent CLI.
	pictureGap = 150 * time.Millisecond
	// pictureLimit is how long Coleo waits for the end of a picture. The time is limited because
	// some programs never pause.
	pictureLimit = 500 * time.Millisecond
)

// sizes decides when a program receives the next size of its terminal.
type sizes struct {
	mu    sync.Mutex
	given time.Time   // when the program received its last size
	timer *time.Timer // ends the wait of the pending size; nil if no size is pending
	next  past.Size   // the pending size

	awaited bool   // the program has not yet drawn the whole frame for its last size
	frames  uint64 // the screen's number of whole frames just before the program received its last size

	redrawing   bool      // a redraw changes the size for a moment
	afterRedraw past.Size // the size that the program has after that redraw
}

// beginRedraw records that a redraw changes the size for a moment. Afterwards, the program gets the size
// `after`, unless Resize names another size meanwhile. beginRedraw returns false and records nothing if the next
// size would have to wait.
func (z *sizes) beginRedraw(after past.Size) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.isBusyLocked() {
		return false
	}
	z.redrawing, z.afterRedraw = true, after
	return true
}

// endRedraw records that the redraw has ended.
func (z *sizes) endRedraw() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.redrawing = false
}

// isRedrawing reports whether a redraw changes the size for a moment.
func (z *sizes) isRedrawing() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.redrawing
}

// noteWanted records the size that somebody wants. A running redraw then ends with this size.
func (z *sizes) noteWanted(size past.Size) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.afterRedraw = size
}

// postpone reports whether a size must wait. If so, it keeps the size as the pending size. A size
// must wait in any of these cases:
//
//   - Another size is pending.
//   - The program received its last size less than resizeGap ago.
//   - The program has not drawn for the last size yet, and resizeLimit has not passed.
//   - Something is being typed.
//
// If a size waits, postpone calls the function `give` when the program can receive the next size. It
// calls the function only once for all sizes that have come meanwhile.
func (z *sizes) postpone(size past.Size, typing bool, give func()) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.postponeLocked(size, typing, give)
}

// postponeBack is like postpone, for the last size of a redraw. It also returns this size.
func (z *sizes) postponeBack(give func()) (size past.Size, waits bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.afterRedraw, z.postponeLocked(z.afterRedraw, false, give)
}

// postponeLocked is postpone for a caller that holds mu.
func (z *sizes) postponeLocked(size past.Size, typing bool, give func()) bool {
	left := z.leftLocked()
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

// takePending removes the pending size and returns it, or returns false if there is none. The next
// size must wait for resizeGap after this call.
func (z *sizes) takePending() (size past.Size, pending bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.timer == nil {
		return past.Size{}, false
	}
	z.timer.Stop()
	z.timer, z.given = nil, time.Now()
	return z.next, true
}

// await must be called just before the program receives a size. `framesShown` is the number of whole frames
// that the screen has shown so far. `willDraw` is true if the program will draw a whole frame for the size.
func (z *sizes) await(framesShown uint64, willDraw bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.frames, z.awaited = framesShown, willDraw
}

// recordAttempt stores whether the attempt to give the program a size failed.
func (z *sizes) recordAttempt(failed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.given, z.awaited = time.Now(), z.awaited && !failed
}

// noteFrames receives the number of whole frames that the screen has shown. If a whole frame came
// after the last size, the program has drawn for that size. The program can then receive the next
// size as soon as resizeGap has passed.
func (z *sizes) noteFrames(frames uint64) {
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

// isBusy reports whether the next size would have to wait.
func (z *sizes) isBusy() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.isBusyLocked()
}

func (z *sizes) isBusyLocked() bool { return z.timer != nil || z.leftLocked() > 0 }

// leftLocked returns how long the next size would have to wait because of the last one.
func (z *sizes) leftLocked() time.Duration {
	wait := resizeGap
	if z.awaited {
		wait = resizeLimit
	}
	return wait - time.Since(z.given)
}

// Resize gives the screen and the program another size. In three cases the size must wait, and
// Resize returns nil at once:
//   - The program received its last size less than resizeGap ago.
//   - The program draws a whole frame for each size, but has not drawn for the last size yet. It
//     receives the next size after that frame, or after resizeLimit.
//   - Something is being typed. At another size, the typed text on the screen would wrap in another
//     way, and Coleo could not compare it.
//
// If several sizes wait, the program receives only the newest. Resize cannot report an error of a
// size that had to wait.
func (s *session) Resize(_ context.Context, cols, rows int) error {
	resume, free := s.typist.TryPause()
	if free {
		defer resume()
	}
	size := past.Size{Cols: cols, Rows: rows}
	s.sizes.noteWanted(size)
	if s.sizes.postpone(size, !free, s.resizeAfterTyping) {
		return nil
	}
	return s.resize(size)
}

// resizeAfterTyping waits until nobody types, and then applies the pending size. During a redraw, it does not
// wait: nobody types then, and the redraw ends only after the pending size was applied.
func (s *session) resizeAfterTyping() {
	if !s.sizes.isRedrawing() {
		defer s.typist.Pause()()
	}
	s.resizePostponed()
}

// resizePostponed applies the pending size, if there still is one.
func (s *session) resizePostponed() {
	size, pending := s.sizes.takePending()
	if !pending || s.State().State == coleo.Dead || s.ctx.Err() != nil {
		return
	}
	// Ignore the error. If the holder does not answer, other calls to it report the failure.
	_ = s.resize(size)
}

// resize waits until the program is between two pictures. Then it gives the new size first to the
// screen and then to the program, as terminals do. In the opposite order, output for the new size
// could reach the screen while the screen still has the old size.
func (s *session) resize(size past.Size) error {
	s.awaitPictureEnd()
	was := s.resizeScreen(size)
	err := s.client.Resize(size.Cols, size.Rows)
	s.sizes.recordAttempt(err != nil)
	if err != nil {
		r, unlock := s.live.lock()
		defer unlock()
		r.Resize(was.Cols, was.Rows)
	}
	return err
}

// awaitPictureEnd waits until the program has just completed a picture, or until it has drawn nothing for
// pictureGap. It waits for at most pictureLimit. Without this wait, a program could receive a smaller size
// while it draws, and draw the rest of the picture outside of the screen. Codex 0.169.0 then ends with an
// error.
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

// resizeScreen gives the screen a size, and returns the earlier size. If the program draws a whole
// frame for each size, the next size must wait for that frame.
func (s *session) resizeScreen(size past.Size) (was past.Size) {
	r, unlock := s.live.lock()
	defer unlock()
	was = sizeOf(r)
	r.Resize(size.Cols, size.Rows)
	// A program that already has the size draws nothing.
	s.sizes.await(r.Core().WholeFrames(), s.rules().WholeAfterResize && size != was)
	return was
}
