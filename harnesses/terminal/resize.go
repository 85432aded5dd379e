package terminal

import (
	"context"
	"time"

	"coleo.dev"
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

// resizing is the state of a session's sizes. The session's mu guards it.
type resizing struct {
	last   time.Time   // when the last size was given
	late   *time.Timer // gives the next size; nil: none is pending
	next   [2]int      // columns and rows
	awaits bool        // the program has not shown the last size yet, and it shows each
	whole  uint64      // the screen's WholeFrames when the last size was given
}

// Resize gives the screen and the program another size. A size that comes within
// resizeGap of another one is given later, when that gap is over. A program that shows
// each size by a whole frame is given the next one when it has done so, or after
// resizeLimit. Resize then returns nil at once, only the newest size is given, and an
// error of the later call is dropped.
func (s *session) Resize(_ context.Context, cols, rows int) error {
	s.mu.Lock()
	wait := resizeGap
	if s.sizes.awaits {
		wait = resizeLimit
	}
	if left := wait - time.Since(s.sizes.last); left > 0 {
		defer s.mu.Unlock()
		s.sizes.next = [2]int{cols, rows}
		if s.sizes.late == nil {
			s.sizes.late = time.AfterFunc(left, s.resizeLate)
		}
		return nil
	}
	s.sizes.last = time.Now()
	s.mu.Unlock()
	return s.resize(cols, rows)
}

// sizeTaken notes that the program has shown the last size. The next one is then given as
// soon as the gap allows. The caller holds mu.
func (s *session) sizeTaken() {
	if !s.sizes.awaits || s.screen.WholeFrames() == s.sizes.whole {
		return
	}
	s.sizes.awaits = false
	if s.sizes.late != nil && s.sizes.late.Stop() {
		s.sizes.late.Reset(max(0, resizeGap-time.Since(s.sizes.last)))
	}
}

func (s *session) resizeLate() {
	s.mu.Lock()
	s.sizes.late, s.sizes.last = nil, time.Now() // a newer size waits from here on
	size := s.sizes.next
	over := s.reading.State == coleo.Dead || s.ctx.Err() != nil
	s.mu.Unlock()
	if !over {
		// When the holder does not answer, the callers that wait for it report that.
		_ = s.resize(size[0], size[1])
	}
}

// settleSize gives a pending size at once.
func (s *session) settleSize() {
	s.mu.Lock()
	late := s.sizes.late
	s.mu.Unlock()
	if late != nil && late.Stop() {
		s.resizeLate()
	}
}

// resize gives the screen its size before the program, as terminals do. What the program
// draws for the new size must not be read at the old one.
func (s *session) resize(cols, rows int) error {
	s.mu.Lock()
	wasCols, wasRows := s.screen.Size()
	s.screen.Resize(cols, rows)
	s.sizes.whole = s.screen.WholeFrames()
	// A program that has the size already draws nothing.
	s.sizes.awaits = s.rules().WholeAfterResize && [2]int{cols, rows} != [2]int{wasCols, wasRows}
	s.mu.Unlock()
	err := s.client.Resize(cols, rows)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes.last = time.Now()
	if err != nil {
		s.screen.Resize(wasCols, wasRows)
		s.sizes.awaits = false
	}
	return err
}
