package pty

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	c := New(10, 5)
	if got := c.Changed(); len(got.Rows) != 5 || !got.Cursor || !got.Title || !got.Modes {
		t.Errorf("at first %+v, want everything", got)
	}
	steps := []struct {
		name, in string
		want     Change
	}{
		{"nothing", "", Change{}},
		{"text", "a\x1b[3Hb", Change{Rows: []int{0, 2}, Cursor: true}},
		{"the same text again", "\x1b[2J\x1b[Ha\x1b[3Hb", Change{}},
		{"a blank is no change of a blank row", "\x1b[5H   \x1b[3;2H", Change{}},
		{"colour is none", "\x1b[3H\x1b[31mb\x1b[m", Change{}},
		{"faint is one", "\x1b[3H\x1b[2mb\x1b[m", Change{Rows: []int{2}}},
		{"a move of the cursor", "\x1b[H", Change{Cursor: true}},
		{"hiding the cursor", "\x1b[?25l", Change{Cursor: true, Modes: true}},
		{"a title", "\x1b]0;x\a", Change{Title: true}},
		{"the same title", "\x1b]0;x\a", Change{}},
		{"a mode", "\x1b[?2004h", Change{Modes: true}},
		{"scrolling", "\x1b[5H\n", Change{Rows: []int{0, 1, 2}, Cursor: true}},
		{"the alternate screen", "\x1b[?1047h", Change{Rows: []int{1}, Modes: true}},
		{"back", "\x1b[?1047l", Change{Rows: []int{1}, Modes: true}},
		{"a combining mark", "\x1b[Hx\x1b[H", Change{Rows: []int{0}, Cursor: true}},
		{"a combining mark on it", "x\u0301\x1b[H", Change{Rows: []int{0}}},
		{"another one", "x\u0302\x1b[H", Change{Rows: []int{0}}},
	}
	for _, s := range steps {
		_, _ = c.Write([]byte(s.in))
		if got := c.Changed(); !reflect.DeepEqual(got, s.want) {
			t.Errorf("%s: %+v, want %+v", s.name, got, s.want)
		}
	}
	c.Resize(12, 3)
	if got := c.Changed(); !got.Any() || len(got.Rows) != 3 {
		t.Errorf("after a resize %+v, want all 3 rows", got)
	}
}

// TestChangedMissesNothing keeps a copy of the screen, and updates only the rows that Changed
// returns. The copy must stay equal to the screen.
func TestChangedMissesNothing(t *testing.T) {
	t.Parallel()
	for _, path := range recordings(t) {
		cast := readCast(t, path)
		c := New(cast.Cols, cast.Rows)
		lines := make([]string, cast.Rows)
		for i, e := range cast.Events {
			play(c, e, 1<<20)
			for _, y := range c.Changed().Rows {
				lines[y] = c.Row(y)
			}
			if i%8 == 0 && !slices.Equal(lines, c.View().Lines) {
				t.Fatalf("%s, event %d: rows changed unnoticed:\n%s\nwant\n%s", path, i,
					strings.Join(lines, "\n"), strings.Join(c.View().Lines, "\n"))
			}
			if i%32 == 0 {
				checkBounds(t, c) // also checks the texts that rows keep
			}
		}
	}
}

func TestFeedStopsAtEachFrame(t *testing.T) {
	t.Parallel()
	const in = "\x1b[?2026ha\x1b[?2026l\x1b[?2026l\x1b[?2026h\rb\x1b[?25;2026lX\x1b[?2026hc"
	for _, chunk := range []int{1, 5, len(in)} {
		c := New(10, 2)
		var frames []string
		for rest := []byte(in); len(rest) > 0; {
			for p := rest[:min(chunk, len(rest))]; len(p) > 0; {
				was := c.Frame().Count
				n := c.Feed(p)
				if n < 1 || n > len(p) {
					t.Fatalf("Feed of %d bytes took %d", len(p), n)
				}
				if c.Frame().Count != was {
					frames = append(frames, c.Row(0))
				}
				p = p[n:]
			}
			rest = rest[min(chunk, len(rest)):]
		}
		if want := []string{"a", "b"}; !slices.Equal(frames, want) {
			t.Errorf("%d bytes at a time: frames %q, want %q", chunk, frames, want)
		}
		if got := c.Frame(); got != (Frame{Open: true, Count: 2}) || !c.Mode("synchronized") {
			t.Errorf("%d bytes at a time: %+v, want an open frame after 2", chunk, got)
		}
		_, _ = c.Write([]byte("\x1bc"))
		if got := c.Frame(); got != (Frame{Count: 3}) {
			t.Errorf("a reset leaves the frame at %+v", got)
		}
	}
}

func TestModesByName(t *testing.T) {
	t.Parallel()
	c := New(10, 2)
	for i, m := range modeTable {
		if c.modes&(1<<i) != 0 != c.Mode(m.name) {
			t.Errorf("Mode(%s) = %v", m.name, c.Mode(m.name))
		}
	}
	for _, m := range []Mode{ModeBracketedPaste, "focus", "application_cursor", "graphemes", "colour_scheme",
		"mouse_drag", "mouse_sgr"} {
		number := 0
		for _, row := range modeTable {
			if row.name == m {
				number = row.number
			}
		}
		_, _ = fmt.Fprintf(c, "\x1b[?%dh", number)
		if !c.Mode(m) || !c.View().Modes[string(m)] {
			t.Errorf("%s is not set by CSI ? %d h", m, number)
		}
		_, _ = fmt.Fprintf(c, "\x1b[?%dl", number)
		if c.Mode(m) || c.View().Modes[string(m)] {
			t.Errorf("%s is not reset by CSI ? %d l", m, number)
		}
	}
	_, _ = c.Write([]byte("\x1b[?1000h\x1b[?1003h\x1b[>1u\x1b="))
	if c.Mode("mouse_click") || !c.Mode("mouse_motion") || !c.Mode("kitty_keyboard") || !c.Mode("application_keypad") ||
		c.Mode("nonsense") {
		t.Errorf("modes %v", c.View().Modes)
	}
}

// WholeFrames counts a frame that writes the whole screen, but no frame that writes only what has
// changed.
func TestWholeFramesAreCounted(t *testing.T) {
	t.Parallel()
	const cols, rows = 40, 10
	paint := func(rows int, line string) string {
		out := "\x1b[?2026h\x1b[?25l"
		for y := range rows {
			out += fmt.Sprintf("\x1b[%d;1H%s", y+1, line)
		}
		return out + "\x1b[?2026l"
	}
	for _, test := range []struct {
		name, output string
		want         uint64
	}{
		{"every row", paint(rows, strings.Repeat("a", cols)), 1},
		{"wide characters", paint(rows, strings.Repeat("語", cols/2)), 1},
		{"repeated blanks", paint(rows, " \x1b["+fmt.Sprint(cols-1)+"b"), 1},
		{"one width measured otherwise", paint(rows, strings.Repeat("a", cols-1)), 1},
		{"nothing but rows", paint(rows, ""), 0},
		{"all rows but two", paint(rows-2, strings.Repeat("a", cols)), 0},
		{"rows twice", paint(rows, strings.Repeat("a", cols)+"\r"+strings.Repeat("b", cols)), 0},
		{"outside a frame", strings.Repeat("a", cols*rows), 0},
		{"not ended", strings.TrimSuffix(paint(rows, strings.Repeat("a", cols)), "\x1b[?2026l"), 0},
		{"begun twice", "\x1b[?2026h" + strings.Repeat("a", cols) + paint(rows-1, strings.Repeat("a", cols)), 1},
	} {
		c := New(cols, rows)
		_, _ = c.Write([]byte(test.output))
		if got := c.WholeFrames(); got != test.want {
			t.Errorf("%s: %d whole frames, want %d", test.name, got, test.want)
		}
	}
}
