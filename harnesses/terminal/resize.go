package terminal

import (
	"context"
	"time"

	"coleo.dev"
)

// resizeGap is the least time between two sizes that a program is given. Some gather
// them, OpenCode 1.18.33 for 100 ms: what it draws meanwhile is for the size before,
// and it is not drawn again where that one has come back.
const resizeGap = 250 * time.Millisecond

// resizing is what a session knows of its sizes. The session's mu guards it.
type resizing struct {
	last time.Time   // when one was given
	late *time.Timer // gives the next one; nil: none waits
	next [2]int      // columns and rows
}

// Resize gives screen and program another size. One that comes within resizeGap of
// another is given when that is over, and then the newest alone: nobody is told of
// what is wrong with it.
func (s *session) Resize(_ context.Context, cols, rows int) error {
	s.mu.Lock()
	if left := resizeGap - time.Since(s.sizes.last); left > 0 {
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

func (s *session) resizeLate() {
	s.mu.Lock()
	s.sizes.late, s.sizes.last = nil, time.Now() // a newer one waits from here on
	size := s.sizes.next
	over := s.reading.State == coleo.Dead || s.ctx.Err() != nil
	s.mu.Unlock()
	if !over {
		_ = s.resize(size[0], size[1]) // that a holder does not answer is told by whoever waits for it
	}
}

// settleSize gives a size that waits, now.
func (s *session) settleSize() {
	s.mu.Lock()
	late := s.sizes.late
	s.mu.Unlock()
	if late != nil && late.Stop() {
		s.resizeLate()
	}
}

// resize gives the screen its size before the program, as terminals do: what that
// draws once it knows must not be read at the old one.
func (s *session) resize(cols, rows int) error {
	s.mu.Lock()
	wasCols, wasRows := s.screen.Size()
	s.screen.Resize(cols, rows)
	s.mu.Unlock()
	err := s.client.Resize(cols, rows)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes.last = time.Now()
	if err != nil {
		s.screen.Resize(wasCols, wasRows)
	}
	return err
}
