package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
	"coleo.dev/pty"
)

// recordingOf writes an arm's recording and reads it back.
func recordingOf(t *testing.T, st *stage) (cast *pty.Cast, first coleo.Recording) {
	t.Helper()
	var out bytes.Buffer
	var w *journal.Cast
	for from := int64(0); ; {
		piece, err := st.h.Record(st.handle, from)
		if err != nil {
			t.Fatal(err)
		}
		if w == nil {
			first = piece
			w = journal.NewCast(&out, piece.Cols, piece.Rows, piece.Events[0].Time)
		}
		for _, e := range piece.Events {
			if len(e.Data) > 0 {
				w.Output(e.Time, e.Data)
			} else {
				w.Resize(e.Time, e.Cols, e.Rows)
			}
		}
		if from = piece.Next; from >= piece.Until {
			break
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	cast, err := pty.ReadCast(&out)
	if err != nil {
		t.Fatal(err)
	}
	return cast, first
}

// shown returns the screen after the last event of a cast, and the time of that event.
func shown(c *pty.Cast) (*pty.Core, time.Duration) {
	screen, last := pty.New(c.Cols, c.Rows), time.Duration(0)
	for _, e := range c.Events {
		if last = e.At; e.Kind == pty.CastResize {
			screen.Resize(e.Cols, e.Rows)
		} else {
			_, _ = screen.Write([]byte(e.Data))
		}
	}
	return screen, last
}

// A recording must contain all of the output, which comes in several pieces and with a resize. It must be
// complete even after the arm has ended.
func TestARecordingHoldsAllOfTheOutput(t *testing.T) {
	t.Parallel()
	data, cols, rows := traffic(t, "gemini-0.61.0/scen-a", 700_000)
	st, s := setStage(t, cols, rows, 0)
	st.say(s, data[:400_000])
	if err := s.Resize(t.Context(), cols-7, rows+3); err != nil {
		t.Fatal(err)
	}
	st.say(s, data[400_000:])
	r, unlock := s.live.lock()
	want, err := pty.Restore(r.Core().Snapshot())
	unlock()
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"while it runs", "after its end"} {
		cast, _ := recordingOf(t, st)
		got, _ := shown(cast)
		if diff := differ(got, want); diff != "" {
			t.Fatalf("%s: %s", when, diff)
		}
		var all strings.Builder
		for _, e := range cast.Events {
			if e.Kind == pty.CastOutput {
				all.WriteString(e.Data)
			}
		}
		if all.String() != strings.ToValidUTF8(string(data), "\ufffd") {
			t.Fatalf("%s: the recording has %d bytes of output, which are not the %d that were written", when,
				all.Len(), len(data))
		}
		if when == "while it runs" {
			if err := s.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
		}
	}
}

// TestARecordingOfTrimmedOutputBeginsWithTheOldestScreen checks that a recording begins with a
// whole screen, and not with the rest of an escape sequence at the journal's beginning.
func TestARecordingOfTrimmedOutputBeginsWithTheOldestScreen(t *testing.T) {
	t.Parallel()
	data, cols, rows := traffic(t, "codex-0.169.0/bash-approve", 3*journal.SegmentSize+recorded/2)
	// each segment begins within an escape sequence
	for at := journal.SegmentSize; at < len(data); at += journal.SegmentSize {
		copy(data[at-5:], "\x1b[38;5;123m")
	}
	st, s := setStage(t, cols, rows, 1)
	old := time.Now()
	for len(st.said) < len(data) {
		n := min(len(data)-len(st.said), journal.SegmentSize)
		st.say(s, data[len(st.said):len(st.said)+n])
	}
	start, _, err := journal.Span(holder.JournalDir(st.handle.Dir))
	if err != nil || start == 0 {
		t.Fatalf("the journal begins at %d (%v): nothing was trimmed", start, err)
	}
	cast, first := recordingOf(t, st)
	if want := start + int64(len("\x1b[38;5;123m")) - 5; first.Offset != want {
		t.Errorf("the recording begins at offset %d, want it behind the sequence, at %d", first.Offset, want)
	}
	before := pty.New(cols, rows)
	_, _ = before.Write(data[:first.Offset])
	painted := pty.New(cast.Cols, cast.Rows)
	_, _ = painted.Write(first.Events[0].Data)
	if a, b := strings.Join(painted.View().Lines, "\n"), strings.Join(before.View().Lines, "\n"); a != b {
		t.Errorf("it begins with the screen\n%s\nwant\n%s", a, b)
	}
	got, _ := shown(cast)
	if a, b := strings.Join(got.View().Lines, "\n"), strings.Join(st.whole(cols, rows).View().Lines, "\n"); a != b {
		t.Errorf("it ends with the screen\n%s\nwant\n%s", a, b)
	}
	_, err = st.h.ScreenAt(st.handle, old)
	if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "the oldest kept screen is from ") {
		t.Fatalf("a screen that is deleted: %v, want the time of the oldest one", err)
	}
	_, timeText, _ := strings.Cut(err.Error(), "the oldest kept screen is from ")
	oldest, err := time.Parse(time.RFC3339Nano, timeText)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = st.h.ScreenAt(st.handle, oldest.Add(time.Millisecond)); err != nil {
		t.Errorf("the oldest screen that is kept: %v", err)
	}
	_ = s.Close()
}

// TestAScreenIsShownAsItStoodAtATime checks the text and the size of earlier screens, while the
// program runs and after it has ended.
func TestAScreenIsShownAsItStoodAtATime(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	type step struct {
		at   time.Time
		text string
		cols int
	}
	var steps []step
	for i, text := range []string{"first", "second", "third"} {
		cols := 80 + 5*i
		if i > 0 {
			if err := s.Resize(t.Context(), cols, 24); err != nil {
				t.Fatal(err)
			}
		}
		st.say(s, []byte("\x1b[2J\x1b[H"+text))
		steps = append(steps, step{lastMark(t, st), text, cols})
		st.await("the next mark is of another time", func() bool {
			return time.Since(steps[i].at) > resizeGap+3*markedEvery
		})
	}
	for range 2 {
		for _, want := range steps {
			got, err := st.h.ScreenAt(st.handle, want.at.Add(2*markedEvery))
			if err != nil || got.Lines[0] != want.text || got.Cols != want.cols {
				t.Errorf("the screen of %s is %q, %d wide (%v), want %q, %d wide", want.at, got.Lines, got.Cols, err,
					want.text, want.cols)
			}
		}
		_ = s.Kill(t.Context()) // the second round reads the screens of an ended program
		_ = s.Close()
	}
	for what, at := range map[string]time.Time{"is kept": steps[0].at.Add(-time.Hour),
		"is in the future": time.Now().Add(time.Hour)} {
		if _, err := st.h.ScreenAt(st.handle, at); coleo.ErrorCode(err) != coleo.EInvalid ||
			!strings.Contains(err.Error(), what) {
			t.Errorf("a screen of %s: %v", at, err)
		}
	}
}

// The journal stores the time of output in marks. markedEvery is the longest time between two such marks.
const markedEvery = 50 * time.Millisecond

func lastMark(t *testing.T, st *stage) (last time.Time) {
	t.Helper()
	marks, err := journal.Marks(holder.JournalDir(st.handle.Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range marks {
		if m.Kind == journal.MarkOutput {
			last = m.Time
		}
	}
	return last
}
