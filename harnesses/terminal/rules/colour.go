package rules

import (
	"strings"
	"unicode/utf8"

	"coleo.dev/pty"
)

// colours are the colours that a condition may name: the part of a colour that stands out.
// A theme may choose any red for its errors, but hardly another colour.
var colours = []string{"red", "green", "blue"}

// colourOf returns the name of the part that stands out: it is at least a quarter larger
// than each of the others. It returns "" where no part does, and for the default colour.
// The first sixteen palette colours count as terminals have them by default.
func colourOf(c pty.Colour) string {
	parts, ok := c.RGB()
	if !ok {
		return ""
	}
	for i, colour := range colours {
		most, others := int(parts[i]), 0
		for j, part := range parts {
			if j != i {
				others = max(others, int(part))
			}
		}
		if most*4 >= others*5 && most > 0 {
			return colour
		}
	}
	return ""
}

// hasColour reports whether one of the places where a condition's pattern matches has the
// condition's colour. The colour is taken at the group "mark", or else at the first
// character of the match.
func (p *Picture) hasColour(c *Cond, rows []string, numbers []int) bool {
	if p.cell == nil || numbers == nil {
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
		if colourOf(p.cell(utf8.RuneCountInString(text[line:at]), row).Fg) == c.Colour {
			return true
		}
	}
	return false
}
