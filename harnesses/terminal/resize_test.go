package terminal

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"coleo.dev/holder"
	"coleo.dev/holder/journal"
)

// Coleo's screen must get a new size before the program gets it. Otherwise Coleo could read output for the new
// size at the old size.
func TestTheScreenIsResizedBeforeTheProgramIs(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	st.say(s, []byte("> \r\n---"))
	holding := s.Handle().Holder.PID
	if err := syscall.Kill(holding, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Resize(t.Context(), 60, 20) }()
	size := func() [2]int { v := s.Screen(); return [2]int{v.Cols, v.Rows} }
	st.await("the screen has the new size, or the request is over", func() bool {
		return size() == [2]int{60, 20} || len(done) > 0
	})
	if size() != [2]int{60, 20} {
		t.Error("the request is over before the screen has the new size")
	}
	if err := syscall.Kill(holding, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || size() != [2]int{60, 20} {
		t.Errorf("the program is resized: %v, the screen is %v", err, size())
	}
}

// If several new sizes come at once, the program must get the first one, and the newest one after resizeGap.
// Some programs skip all but the last of several quick changes. Rows that they drew for a skipped size then
// stay on the screen.
func TestSizesThatComeAtOnceAreGivenOneAfterAnother(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	for _, size := range [][2]int{{60, 20}, {90, 30}, {80, 24}} {
		if err := s.Resize(t.Context(), size[0], size[1]); err != nil {
			t.Fatal(err)
		}
	}
	given := func() []journal.Mark { return resizes(holder.JournalDir(s.handle.Dir)) }
	st.await("all are given", func() bool { n := len(given()); return n > 2 })
	m := given()
	small, last := m[len(m)-2], m[len(m)-1]
	if small.Cols != 60 || last.Cols != 80 || last.Time.Sub(small.Time) < resizeGap {
		t.Errorf("after the size it began with %d columns, and %s later %d; want 60, and %s later 80", small.Cols,
			last.Time.Sub(small.Time), last.Cols, resizeGap)
	}
	if view := s.Screen(); view.Cols != 80 || view.Rows != 24 {
		t.Errorf("the screen is %d x %d", view.Cols, view.Rows)
	}
	if err := s.Resize(t.Context(), 70, 22); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if m = given(); m[len(m)-1].Cols != 70 {
		t.Errorf("closed, the session has given %d columns last, want those that waited: 70", m[len(m)-1].Cols)
	}
}

// After a new size, the next one must wait until the program has drawn the whole screen. The size can change
// from 80 columns to 60 and back to 80. If the program notices only the last change, it does not redraw what
// the smaller screen cut off.
func TestTheNextSizeWaitsUntilTheLastOneIsShown(t *testing.T) {
	t.Parallel()
	st, s := setStageOf(t, "whole_after_resize = true\n"+stageSpec, 80, 24, 0)
	given := func() []journal.Mark { return resizes(holder.JournalDir(s.handle.Dir)) }
	start, begun := len(given()), time.Now()
	for _, size := range [][2]int{{60, 20}, {80, 24}} {
		if err := s.Resize(t.Context(), size[0], size[1]); err != nil {
			t.Fatal(err)
		}
	}
	st.await("the gap between two sizes is over", func() bool { return time.Since(begun) > 2*resizeGap })
	st.say(s, []byte("\x1b[?2026h\x1b[1;1Hthe same as before\x1b[?2026l"))
	if m := given(); len(m) != start+1 || m[start].Cols != 60 {
		t.Fatalf("the program was given %+v, want the size of 60 columns alone", m[start:])
	}
	whole := "\x1b[?2026h"
	for y := range 20 {
		whole += fmt.Sprintf("\x1b[%d;1H%60s", y+1, "x")
	}
	st.say(s, []byte(whole+"\x1b[?2026l"))
	st.await("the next size is given", func() bool { return len(given()) > start+1 })
	if took := given()[start+1].Time.Sub(begun); took >= resizeLimit {
		t.Errorf("the next size came after %s, with the limit and not with the frame", took)
	}
}

// A new size of the terminal must wait while Coleo types. Some programs end with an error if their size
// changes while they read a text.
func TestASizeWaitsUntilNothingIsTyped(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	given := func() []journal.Mark { return resizes(holder.JournalDir(s.handle.Dir)) }
	start := len(given())
	typed := s.typist.Pause()
	for _, size := range [][2]int{{60, 20}, {90, 30}} {
		if err := s.Resize(t.Context(), size[0], size[1]); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	st.await("the gap between two sizes is over", func() bool { return time.Since(begun) > 2*resizeGap })
	if m, view := given(), s.Screen(); len(m) != start || view.Cols != 80 {
		t.Errorf("while something is typed the program is given %+v, and the screen has %d columns", m[start:], view.Cols)
	}
	typed()
	st.await("the newest size is given", func() bool { return s.Screen().Cols == 90 && len(given()) > start })
	if m := given(); len(m) != start+1 || m[start].Cols != 90 {
		t.Errorf("afterwards the program is given %+v, want the size of 90 columns alone", m[start:])
	}

	defer s.typist.Pause()()
	if err := s.Resize(t.Context(), 70, 22); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if m := given(); m[len(m)-1].Cols != 70 {
		t.Errorf("closed, the session has given %d columns last, want those that waited: 70", m[len(m)-1].Cols)
	}
}

// A new size must reach the program between two pictures, because a program may draw the rest of a picture
// outside of a smaller screen. Coleo waits for this only until the output has paused for pictureGap. So the
// test repeats a round in which the test itself paused for longer.
func TestASizeIsGivenBetweenTwoPictures(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	for cols := 79; ; cols-- {
		if cols == 20 {
			t.Fatal("the machine was too slow for each round")
		}
		begun := time.Now()
		given, end := resizeInAPicture(t, st, s, cols)
		if time.Since(begun) >= pictureGap {
			again := time.Now()
			st.await("the next size is given at once", func() bool { return time.Since(again) > resizeGap })
			continue
		}
		if len(given) != 1 || given[0].Offset != end {
			t.Errorf("the program is given %+v, want one size at the end of the picture, %d", given, end)
		}
		return
	}
}

// resizeInAPicture gives the stage's program a new size between the two halves of a picture. It
// returns the sizes that the program received, and the offset at which the picture ended.
func resizeInAPicture(t *testing.T, st *stage, s *session, cols int) (given []journal.Mark, end int64) {
	t.Helper()
	start := len(resizes(holder.JournalDir(s.handle.Dir)))
	st.say(s, []byte("\x1b[?2026hthe beginning"))
	done := make(chan error, 1)
	begun := time.Now()
	go func() { done <- s.Resize(t.Context(), cols, 20) }()
	st.await("some time has passed", func() bool { return time.Since(begun) > pictureGap/2 })
	st.say(s, []byte(" and the rest\x1b[?2026l"))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r, unlock := s.live.lock()
	defer unlock()
	return resizes(holder.JournalDir(s.handle.Dir))[start:], r.End()
}

// resizes returns the resizes in the journal in dir.
func resizes(dir string) (out []journal.Mark) {
	index, err := journal.OpenIndex(dir)
	if err != nil {
		return nil
	}
	defer index.Close()
	for m := range index.From(0) {
		if m.Kind == journal.MarkResize {
			out = append(out, m)
		}
	}
	return out
}
