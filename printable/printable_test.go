package printable

import (
	"testing"
	"unicode"
)

func TestNothingInvisibleIsShown(t *testing.T) {
	for _, c := range []struct{ in, text, marked, line, escaped string }{
		{"plain", "plain", "plain", "plain", "plain"},
		{"two\n\tlines\r\n", "two\n\tlines\n", "two\n\tlines\n", "two lines", `two\x0a\x09lines\x0d\x0a`},
		{"a\x1b[2Jb\x7f", "a[2Jb", "a?[2Jb?", "a[2Jb", `a\x1b[2Jb\x7f`},
		{"c1\u009b31m", "c131m", "c1?31m", "c131m", `c1\u009b31m`},
		{"left\u202eright\u2066", "leftright", "left?right?", "leftright", `left\u202eright\u2066`},
		{"zero\u200bwidth\ufeff", "zerowidth", "zero?width?", "zerowidth", `zero\u200bwidth\ufeff`},
		{"tag\U000e0041", "tag", "tag?", "tag", `tag\U000e0041`},
		{"10%\r20%", "10% 20%", "10%?20%", "10% 20%", `10%\x0d20%`},
		{"bad\xff utf8", "bad utf8", "bad? utf8", "bad utf8", `bad\xff utf8`},
		{"next\u0085line\u2028end", "next line end", "next?line?end", "next line end", `next\u0085line\u2028end`},
		{"x\ufe0f\U000e0101y", "xy", "x??y", "xy", `x\ufe0f\U000e0101y`},
		{"fill\u3164\u115f\uffa0er", "filler", "fill???er", "filler", `fill\u3164\u115f\uffa0er`},
		{"join\u034f\u17b4er\u2800", "joiner", "join??er?", "joiner", `join\u034f\u17b4er\u2800`},
		{"⚠\ufe0f\ufe0f", "⚠", "⚠?", "⚠", `⚠\ufe0f\ufe0f`},
		{"名前 é \u00a0x", "名前 é \u00a0x", "名前 é \u00a0x", "名前 é x", "名前 é \u00a0x"},
	} {
		for name, got := range map[string][2]string{"Text": {Text(c.in), c.text}, "Marked": {Marked(c.in), c.marked},
			"Line": {Line(c.in), c.line}, "Escaped": {Escaped(c.in), c.escaped}} {
			if got[0] != got[1] {
				t.Errorf("%s(%q) = %q, want %q", name, c.in, got[0], got[1])
			}
		}
	}
}

func TestEachCharacterIsVisibleAfterwards(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		for _, got := range []string{Text(string(r)), Marked(string(r)), Line(string(r)), Escaped(string(r))} {
			for _, left := range got {
				if left != '\n' && left != '\t' && !unicode.IsGraphic(left) {
					t.Fatalf("U+%04X leaves U+%04X", r, left)
				}
			}
		}
	}
}

func TestALongTextIsShortened(t *testing.T) {
	t.Parallel()
	const longest = "名234567890123456789012345678901234567890"
	for in, want := range map[string]string{"": "", longest: longest, longest + "1": longest + "…"} {
		if got := Shortened(in); got != want {
			t.Errorf("Shortened(%q) = %q, want %q", in, got, want)
		}
	}
}
