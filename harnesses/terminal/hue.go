package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"

	"coleo.dev/pty"
)

// hues are the colours that a condition may name: the part of a colour that stands out. A
// theme may choose any red for its errors, but hardly another colour.
var hues = []string{"red", "green", "blue"}

// hueOf returns the name of the part that stands out: it is at least a quarter larger
// than each of the others. It returns "" where no part does, and for the default colour.
// The first sixteen palette colours count as terminals have them by default.
func hueOf(c pty.Colour) string {
	parts, ok := c.RGB()
	if !ok {
		return ""
	}
	for i, hue := range hues {
		most, others := int(parts[i]), 0
		for j, part := range parts {
			if j != i {
				others = max(others, int(part))
			}
		}
		if most*4 >= others*5 && most > 0 {
			return hue
		}
	}
	return ""
}

// inHue reports whether one of the places where a condition's pattern matches has the
// condition's colour. The colour is taken at the group "mark", or else at the first
// character of the match.
func (f *frame) inHue(c *Cond, rows []string, numbers []int) bool {
	if f.cell == nil || numbers == nil {
		return false
	}
	group := 2 * max(0, c.pattern.SubexpIndex("mark"))
	text := strings.Join(rows, "\n")
	for _, m := range c.pattern.FindAllStringSubmatchIndex(text, -1) {
		at := m[group]
		if at < 0 {
			continue
		}
		line := strings.LastIndexByte(text[:at], '\n') + 1
		row := numbers[strings.Count(text[:at], "\n")]
		if hueOf(f.cell(utf8.RuneCountInString(text[line:at]), row).Fg) == c.Colour {
			return true
		}
	}
	return false
}

// rowNumbers returns the numbers of the screen rows that make up a region. It returns nil
// for a region that is not made of whole screen rows. The region must be there.
func (f *frame) rowNumbers(r region) []int {
	switch r.name {
	case "screen":
		return upTo(0, len(f.rows))
	case "bottom":
		return f.notBlank(len(f.rows), r.n)
	case "cursor":
		return []int{f.cursorY()}
	case "below composer":
		return upTo(f.composer.bottom, len(f.rows))
	case "above composer":
		return f.notBlank(f.composer.top, r.n)
	}
	return nil
}

func upTo(from, end int) []int {
	var out []int
	for y := from; y < end; y++ {
		out = append(out, y)
	}
	return out
}

// notBlank returns the numbers of the last n rows above a row that are not blank.
func (f *frame) notBlank(above, n int) []int {
	var out []int
	for y := above - 1; y >= 0 && len(out) < n; y-- {
		if f.rows[y] != "" {
			out = append(out, y)
		}
	}
	slices.Reverse(out)
	return out
}
