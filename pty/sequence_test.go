package pty

import (
	"fmt"
	"strings"
	"testing"
)

// TestSequences covers sequences that the comparison with xterm.js leaves out or tries only by chance. In
// `want`, the rows are separated by |, and have no trailing blanks.
func TestSequences(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		x, y           int
	}{
		{"text wraps only when more follows", "abcdefgh", "abcdefgh", 8, 0},
		{"a pending wrap wraps the next character", "abcdefghi", "abcdefgh|i", 1, 1},
		{"without DECAWM the last column is overwritten", "\x1b[?7labcdefghij", "abcdefgj", 8, 0},
		{"a backspace leaves a pending wrap", "abcdefgh\bX", "abcdefXh", 7, 0},
		{"erasing at a pending wrap erases nothing", "abcdefgh\x1b[K", "abcdefgh", 8, 0},
		{"reverse wrap goes back up", "\x1b[?45habcdefghi\b\bX", "abcdefgX|i", 8, 0},
		{"insert mode shifts", "abc\r\x1b[4hX\x1b[4lY", "XYbc", 2, 0},
		{"ICH, DCH and ECH", "abcdef\x1b[2G\x1b[2@\x1b[5G\x1b[P\x1b[6G\x1b[X", "a  bd f", 5, 0},
		{"REP repeats the last character", "ab\x1b[3b", "abbbb", 5, 0},
		{"REP after a move repeats nothing", "ab\x1b[D\x1b[3b", "ab", 1, 0},
		{"REP with a huge number ends", "a\x1b[65535b\x1b[H\x1b[2Jok", "ok", 2, 0},
		{"tabs", "a\tb", "a      b", 8, 0},
		{"own tab stops", "\x1b[3g\x1b[4G\x1bH\r\tx\r\x1b[2I\x1b[Z!", "   !", 4, 0},
		{"a huge number of tabs ends", "\x1b[999999999Ix", "       x", 8, 0},
		{"scrolling in a region", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3H\n5", "1|3|5|4", 1, 2},
		{"DECSTBM with a huge bottom means the last row", "\x1b[2;9999r\x1b[9999Hx", "|||x", 1, 3},
		{"DECSTBM upside down is ignored", "\x1b[3;2r\x1b[4Hx\n", "||x", 1, 3},
		{"IL and DL", "1\r\n2\r\n3\x1b[2;3H\x1b[L\x1b[3H\x1b[M", "1||3", 0, 2},
		{"origin mode counts from the region", "\x1b[2;3r\x1b[?6hA\x1b[2;2HB\x1b[9;9HC", "|A| B     C", 8, 2},
		{"moves in origin mode are relative", "\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[Aa\x1b[B\x1b[5Gb", "|  a|    b", 5, 2},
		{"DECSC and DECRC", "ab\x1b7\x1b[3;3Hcd\x1b8e", "abe||  cd", 3, 0},
		{"DECRC goes to a place on the screen, not in the text", "\x1b[4H\x1b7\n\n\nx\x1b8y", "|||y", 1, 3},
		{"DECRC restores origin mode", "\x1b[2;3r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[HA", "|A", 1, 1},
		{"DECRC with nothing saved goes home", "abc\x1b8x", "xbc", 1, 0},
		{"line drawing", "\x1b(0lqk\x1b(Bq\x0ex\x1b)0x\x0fx", "┌─┐qx│x", 7, 0},
		{"line drawing to its end", "\x1b(0`az{|}~", "◆▒≥π≠£·", 7, 0},
		{"wide characters", "漢字", "漢字", 4, 0},
		{"a wide character that does not fit wraps", "abcdefg漢", "abcdefg|漢", 2, 1},
		{"writing over half a wide character erases it", "漢字\x1b[2Gx", " x字", 2, 0},
		{"erasing half a wide character erases it", "漢字\x1b[2G\x1b[2X", "", 1, 0},
		{"combining marks stay with their letter", "e\u0301x", "e\u0301x", 2, 0},
		{"an emoji made by its selector is wide", "⚠\ufe0fx", "⚠\ufe0fx", 3, 0},
		{"joined emoji share two cells", "👩\u200d💻x", "👩\u200d💻x", 3, 0},
		{"flags share two cells", "🇩🇪🇫🇷x", "🇩🇪🇫🇷x", 5, 0},
		{"a skin tone takes no cell", "👍🏽x", "👍🏽x", 3, 0},
		{"invisible characters take no cell", "a\u200bb\u2060c", "a\u200bb\u2060c", 3, 0},
		{"a byte order mark is dropped", "\ufeffa", "a", 1, 0},
		{"an emoji that becomes wide at the edge wraps", "abcdefg⚠\ufe0f", "abcdefg|⚠\ufe0f", 2, 1},
		{"what is not UTF-8 is dropped", "a\xffb\xc0\x80c\xe2\x96d\xf5\x80\x80\x80e", "abcde", 5, 0},
		{"CSI ? u, < u, > u and = u restore no cursor", "a\x1b7bc\x1b[?u\x1b[>1u\x1b[<u\x1b[=1ud", "abcd", 4, 0},
		{"CSI s and u save and restore", "a\x1b[sbc\x1b[ud", "adc", 2, 0},
		{"CSI > 4 ; 1 m is no SGR", "\x1b[>4;1ma", "a", 1, 0},
		{"0x9C inside UTF-8 ends no string", "\x1b]0;✳ x\x1b\\a", "a", 1, 0},
		{"a string ends at U+009C", "\x1b]0;x\u009ca", "a", 1, 0},
		{"CAN ends a sequence", "\x1b[3\x18a\x1b]0;x\x1ab", "ab", 2, 0},
		{"a new escape ends a sequence", "\x1b[3\x1b[2Ca", "  a", 3, 0},
		{"controls inside a sequence are executed", "a\x1b[\r2Cb", "a b", 3, 0},
		{"U+009B is CSI", "\u009b2Ca", "  a", 3, 0},
		{"APC, PM, SOS and unknown DCS show nothing",
			"\x1b_Gi=1;AA\x1b\\\x1b^x\x1b\\\x1bXy\x1b\\\x1bP1;2|zz\x1b\\a", "a", 1, 0},
		{"OSC 52 and 66 show nothing", "\x1b]52;c;aGk=\a\x1b]66;w=1;x\x1b\\a", "a", 1, 0},
		{"ED 3 leaves the screen", "ab\x1b[3J", "ab", 2, 0},
		{"selective erase leaves what is protected", "\x1b[1\"qab\x1b[0\"qcd\x1b[?2K", "ab", 4, 0},
		{"DECALN", "\x1b#8\x1b[2;2H\x1b[J", "EEEEEEEE|E", 1, 1},
		{"columns shift", "abcd\r\nefgh\x1b[1;2H\x1b[2'}\x1b[ @", "  bcd|  fgh", 1, 0},
		{"SU and SD", "1\r\n2\r\n3\x1b[2S\x1b[T", "|3", 1, 2},
		{"RIS clears", "abc\x1b[?25l\x1b[2;3rx\x1bcy", "y", 1, 0},
		{"a CR LF under LNM", "\x1b[20hab\ncd", "ab|cd", 2, 1},
	}
	for _, tt := range tests {
		c := draw(8, 4, tt.in)
		got := strings.ReplaceAll(text(c), "\n", "|")
		x, y := c.Cursor()
		if got != strings.TrimRight(tt.want, "|") || x != tt.x || y != tt.y {
			t.Errorf("%s: %q shows %q, cursor %d,%d, want %q, %d,%d", tt.name, tt.in, got, x, y, tt.want, tt.x, tt.y)
		}
	}
}

func TestAlternateScreen(t *testing.T) {
	t.Parallel()
	for _, mode := range []int{47, 1047, 1049} {
		c := draw(10, 3, fmt.Sprintf("main\x1b[2;2H\x1b[?%dh", mode))
		if got := text(c); got != "" || !c.View().Alt || !c.Mode("alt_screen") {
			t.Errorf("%d: alternate screen shows %q, alt %v", mode, got, c.View().Alt)
		}
		_, _ = c.Write([]byte("\x1b[3;5Halt\n\n\x1b[?1049$p"))
		if got := string(c.Replies()); got != "\x1b[?1049;1$y" {
			t.Errorf("%d: DECRQM says %q", mode, got)
		}
		if h := c.History(10); len(h) != 0 {
			t.Errorf("%d: the alternate screen made history: %q", mode, h)
		}
		_, _ = fmt.Fprintf(c, "\x1b[?%dl", mode)
		x, y := c.Cursor()
		wantX, wantY := 7, 2
		if mode == 1049 {
			wantX, wantY = 1, 1
		}
		if got := text(c); got != "main" || c.View().Alt || x != wantX || y != wantY {
			t.Errorf("%d: back on the normal screen: %q, cursor %d,%d, want %d,%d", mode, got, x, y, wantX, wantY)
		}
	}
}

func TestAttributesOfCells(t *testing.T) {
	t.Parallel()
	c := draw(20, 2, "\x1b[2mf\x1b[22;7mi\x1b[27;1mb\x1b[0;8mh\x1b[mn\x1b[38:2::1:2:3;2mx\x1b[;1;38;5;9;2my\x1b[m漢")
	for x, want := range []Cell{
		{Text: "f", Width: 1, Faint: true},
		{Text: "i", Width: 1, Inverse: true},
		{Text: "b", Width: 1, Bold: true},
		{Text: "h", Width: 1, Hidden: true},
		{Text: "n", Width: 1},
		{Text: "x", Width: 1, Faint: true, Fg: 2<<24 | 1<<16 | 2<<8 | 3},
		{Text: "y", Width: 1, Faint: true, Bold: true, Fg: 1<<24 | 9},
		{Text: "漢", Width: 2},
		{},
		{Width: 1},
	} {
		if got := c.Cell(x, 0); got != want {
			t.Errorf("cell %d = %+v, want %+v", x, got, want)
		}
	}
	if got := c.Cell(-1, 5); got != (Cell{Width: 1}) {
		t.Errorf("cell outside = %+v", got)
	}
}

func TestOnlyWebLinksAreKept(t *testing.T) {
	t.Parallel()
	c := draw(20, 1,
		"\x1b]8;id=1;https://a.example/x;y\x1b\\a\x1b]8;;\x1b\\b"+
			"\x1b]8;;file:///etc/passwd\ac\x1b]8;;HTTP://b\ad\x1b[me")
	want := []string{"https://a.example/x;y", "", "", "HTTP://b", "HTTP://b"}
	for x, link := range want {
		if got := c.Cell(x, 0).Link; got != link {
			t.Errorf("link of cell %d = %q, want %q", x, got, link)
		}
	}
}

func TestManyLinksAndClustersAreForgotten(t *testing.T) {
	t.Parallel()
	c := New(20, 3)
	for i := range 3 * maxLinks {
		_, _ = fmt.Fprintf(c, "\x1b]8;;http://x/%d\x1b\\%c\u0301%c", i, rune('a'+i%26), rune(0x300+i%0x60))
		_, _ = fmt.Fprintf(c, "%c\r\n", rune(0x4e00+i))
	}
	if len(c.links.list) > maxLinks || len(c.clusters.list) > 2*minClusters {
		t.Errorf("%d links and %d clusters are kept", len(c.links.list), len(c.clusters.list))
	}
	if got := c.Cell(0, 1).Link; got != fmt.Sprintf("http://x/%d", 3*maxLinks-1) {
		t.Errorf("the last link is %q", got)
	}
}

func TestASavedLinkOutlivesOthers(t *testing.T) {
	t.Parallel()
	c := draw(20, 3, "\x1b]8;;http://saved\x1b\\\x1b7")
	for i := range maxLinks + 5 {
		_, _ = fmt.Fprintf(c, "\x1b]8;;http://x/%d\x1b\\", i)
	}
	_, _ = c.Write([]byte("\x1b8x"))
	if got := c.Cell(0, 0).Link; got != "http://saved" {
		t.Errorf("the saved link is %q", got)
	}
}

func TestAClusterWithTheNumberOfAnotherIsAChange(t *testing.T) {
	t.Parallel()
	c := draw(20, 3, "e\u0301")
	was := c.buf.rows[0].at(0).ch
	c.Changed()
	_, _ = c.Write([]byte("\x1b[2J\x1b[H"))
	c.collectClusters()
	_, _ = c.Write([]byte("u\u0308"))
	if now := c.buf.rows[0].at(0).ch; now != was {
		t.Fatalf("the number is %x, not %x again", now, was)
	}
	if got := c.Changed().Rows; len(got) != 1 {
		t.Errorf("changed rows %v, want row 0", got)
	}
}
