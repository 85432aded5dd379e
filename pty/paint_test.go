package pty

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// lookDifference describes where two screens look different. It returns "" if they look the same. A
// blank and a space look the same.
func lookDifference(got, want *Core) string {
	g, w := got.View(), want.View()
	if fmt.Sprint(g) != fmt.Sprint(w) {
		return fmt.Sprintf("the screen is\n%+v\nwant\n%+v", g, w)
	}
	for y := range w.Rows {
		for x := range w.Cols {
			a, b := got.Cell(x, y), want.Cell(x, y)
			for _, c := range []*Cell{&a, &b} {
				if c.Text == "" && c.Width == 1 {
					c.Text = " "
				}
			}
			if a != b {
				return fmt.Sprintf("the cell at %d, %d is %+v, want %+v", x, y, a, b)
			}
		}
	}
	return ""
}

// painted returns a screen that first read other output and then the output of Paint.
func painted(c *Core) *Core {
	out := New(c.cols, c.rows)
	_, _ = out.Write([]byte("\x1b[?1049h\x1b[4h\x1b[3;7r\x1b(0something else\x1b[1;7m"))
	_, _ = out.Write(c.Paint())
	return out
}

// TestAPaintedScreenLooksTheSameAndGoesOnAlike stops each recording at many places, and paints the screen there
// on a second Core. Both screens must look the same. They must still look the same after both have read the
// rest of the recording.
func TestAPaintedScreenLooksTheSameAndGoesOnAlike(t *testing.T) {
	t.Parallel()
	for _, path := range recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			cast := readCast(t, path)
			var data []byte
			for _, e := range cast.Events {
				if e.Kind == CastOutput {
					data = append(data, e.Data...)
				}
			}
			draw := rand.New(rand.NewPCG(1, uint64(len(data))))
			for range 4 {
				cut := draw.IntN(len(data))
				c := New(cast.Cols, cast.Rows)
				_, _ = c.Write(data[:cut])
				for ; cut < len(data) && !c.Between(); cut++ {
					_, _ = c.Write(data[cut : cut+1])
				}
				again := painted(c)
				if diff := lookDifference(again, c); diff != "" {
					t.Fatalf("cut at %d: %s", cut, diff)
				}
				_, _ = again.Write(data[cut:])
				_, _ = c.Write(data[cut:])
				if diff := lookDifference(again, c); diff != "" {
					t.Fatalf("cut at %d, at the end: %s", cut, diff)
				}
			}
		})
	}
}

func TestWhatIsHardToPaint(t *testing.T) {
	t.Parallel()
	for what, out := range map[string]string{
		"a pending wrap":           "\x1b[H0123456789",
		"a pending wrap, wide":     "\x1b[H01234567\U0001f600",
		"wrapped lines":            "0123456789abcdefghij",
		"wrapped, then a wide one": "012345678\U0001f600x",
		"no autowrap":              "\x1b[?7l0123456789xyz",
		"insert mode":              "abc\x1b[4h\x1b[H",
		"line drawing":             "\x1b(0lqk\x1b)A\x0e#",
		"a scroll region":          "\x1b[2;3rabc\r\n\r\n\r\nx",
		"origin mode":              "\x1b[2;3r\x1b[?6h\x1b[2;2Hx",
		"a saved cursor":           "\x1b[2;3H\x1b[1;31m\x1b7\x1b[0m\x1b[H",
		"a saved cursor in origin": "\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b7\x1b[?6l",
		"tab stops":                "\x1b[3g\x1b[4G\x1bH\r",
		"the alternate screen":     "normal\x1b[31m\x1b[?1049h\x1b[2;2Halt",
		"a title and modes":        "\x1b]2;here\a\x1b[?2004h\x1b[?1003h\x1b[?1006h\x1b[?25l\x1b[?1h\x1b=",
		"kitty's keyboard":         "\x1b[>1u\x1b[>5u",
		"an open update":           "\x1b[?2026hhalf",
		"colours":                  "\x1b[31mr\x1b[92mg\x1b[38;5;200mp\x1b[48;2;1;2;3mb\x1b[7;2mz\x1b[K",
		"a coloured screen":        "\x1b[44m\x1b[2J\x1b[3;3Hx",
		"a link":                   "\x1b]8;;https://example.com/\alink\x1b]8;;\a no",
		"flags that would join":    "\U0001f1e6\x1b[2G\U0001f1e7\x1b[3G\U0001f1e8\x1b[5G\U0001f1e9",
		"a prefix that would join": "\u0600\x1b[2Gx",
		"a cluster":                "e\u0301\U0001f468\u200d\U0001f469",
		"a mark alone":             "\u0301x",
		"the screen full of E":     "\x1b[35m\x1b#8",
		"protected":                "\x1b[1\"qsafe\x1b[0\"q loose\x1b[1\"q",
		"a pen that is on":         "\x1b[1;4;35m\x1b]8;;https://example.com/\a",
	} {
		for _, then := range []string{"Z", "\x1b8Q", "\r\n\tY\n\n", "\x1b[?1049lback\x1b8N", "\x1b[?2J",
			"\x1b[?6l\x1b[99;99Hm\x1b[<1u"} {
			c := New(10, 4)
			_, _ = c.Write([]byte(out))
			again := painted(c)
			if diff := lookDifference(again, c); diff != "" {
				t.Errorf("%s: %q: %s", what, c.Paint(), diff)
				break
			}
			_, _ = again.Write([]byte(then))
			_, _ = c.Write([]byte(then))
			if diff := lookDifference(again, c); diff != "" {
				t.Errorf("%s, then %q: %q: %s", what, then, c.Paint(), diff)
			}
		}
	}
}

// TestPaintedLinesAreWrappedAnew makes a terminal wider. The terminal joins the rows that it has
// wrapped. It must join painted rows in the same way.
func TestPaintedLinesAreWrappedAnew(t *testing.T) {
	t.Parallel()
	c := New(10, 4)
	_, _ = c.Write([]byte("0123456789abcdefghij\r\nother"))
	again := painted(c)
	for _, s := range []*Core{c, again} {
		s.Resize(25, 4)
	}
	if diff := lookDifference(again, c); diff != "" || c.Row(0) != "0123456789abcdefghij" {
		t.Errorf("%s (the row is %q)", diff, c.Row(0))
	}
}
