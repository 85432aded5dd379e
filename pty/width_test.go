package pty

import "testing"

func TestWidths(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		cells    int
	}{
		{"ASCII", "a~", 2},
		{"Latin, Greek, box drawing, braille", "éΩ─⠋", 4},
		{"ambiguous ones are narrow", "…·●★→✳①", 7},
		{"CJK and full width", "漢あア한Ａ", 10},
		{"half width katakana", "ｱ", 1},
		{"emoji", "🟢✋🔌🚀", 8},
		{"text symbols stay narrow", "⚠✔❤☁", 4},
		{"and are wide with U+FE0F", "⚠\ufe0f✔\ufe0f❤\ufe0f", 6},
		{"U+FE0E leaves them as they are", "◐\ufe0e", 1},
		{"keycap", "1\ufe0f\u20e3", 2},
		{"family", "👨\u200d👩\u200d👧", 2},
		{"skin tone", "👍🏽", 2},
		{"flag", "🇫🇮", 2},
		{"two flags", "🇫🇮🇪🇪", 4},
		{"combining marks", "a\u0301\u0302", 1},
		{"Devanagari", "नि", 1},
		{"Hangul in parts", "\u1100\u1161\u11a8", 2},
		{"zero width space and joiners", "\u200b\u2060", 1},
	}
	for _, tt := range tests {
		c := draw(40, 1, tt.in)
		if x, _ := c.Cursor(); x != tt.cells || c.Row(0) != tt.in {
			t.Errorf("%s: %q takes %d cells and shows %q, want %d cells", tt.name, tt.in, x, c.Row(0), tt.cells)
		}
	}
}

func TestClustersAreBounded(t *testing.T) {
	t.Parallel()
	c := draw(10, 1, "a")
	for range 1000 {
		_, _ = c.Write([]byte("\u0301"))
	}
	if n := len(c.Row(0)); n > maxCluster+4 || n < maxCluster {
		t.Errorf("a cluster of %d bytes", n)
	}
	if x, _ := c.Cursor(); x != 1 {
		t.Errorf("cursor at %d", x)
	}
}

// Codex 0.169.0 draws the second cell of an emoji itself. The texts after its emoji must be in the right
// columns, also on a second screen that has read the output of Paint.
func TestNarrowEmoji(t *testing.T) {
	t.Parallel()
	c := New(20, 2)
	c.NarrowEmoji()
	_, _ = c.Write([]byte("1\ufe0f\u20e3\x1b[39;49m \x1b[mé ❤\ufe0f\x1b[39;49m " +
		"\x1b[mr\x1b[2;1H1\ufe0f\u20e3\x1b[2;3Hé ❤\ufe0f\x1b[2;7Hr"))
	for y := range 2 {
		if x, want := c.Row(y), "1\ufe0f\u20e3 é ❤\ufe0f r"; x != want {
			t.Errorf("row %d shows %q, want %q", y, x, want)
		}
	}
	for in, want := range map[string]int{"⭐\ufe0f": 1, "🏳\ufe0f\u200d🌈": 1, "⭐": 2, "👍🏽": 2,
		"🇫🇮": 2, "👩\u200d👧": 2, "漢\ufe0f": 1} {
		one := New(9, 1)
		one.NarrowEmoji()
		_, _ = one.Write([]byte(in))
		if x, _ := one.Cursor(); x != want || one.Row(0) != in {
			t.Errorf("%q takes %d cells and shows %q, want %d cells", in, x, one.Row(0), want)
		}
	}
	painted := New(20, 2)
	_, _ = painted.Write(c.Paint())
	for y := range 2 {
		for x, want := range map[int]string{2: "é", 6: "r"} {
			if got := painted.Cell(x, y).Text; got != want {
				t.Errorf("painted, the cell at %d, %d shows %q, want %q", x, y, got, want)
			}
		}
	}
}
