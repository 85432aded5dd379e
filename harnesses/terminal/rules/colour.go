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

// markedOption returns the index of the option that is shown on a background of its own. It
// returns -1 when no option is, or more than one. The options are on one row, the lowest
// that holds all of them. The main background of any row marks nothing: buttons may have
// the background of the box above them.
func (p *Picture) markedOption(options []string) int {
	y, columns := p.optionRow(options)
	if p.cell == nil || y < 0 {
		return -1
	}
	grounds := map[pty.Colour]bool{p.backgroundOf(y): true}
	found, others := p.otherBackgrounds(y, columns, grounds)
	for row := range y {
		if others == 0 {
			break
		}
		grounds[p.backgroundOf(row)] = true
		found, others = p.otherBackgrounds(y, columns, grounds)
	}
	if others > 0 {
		return -1
	}
	return found
}

// otherBackgrounds returns the first of the columns of a row whose background is none of
// the grounds, or -1, and how many others there are.
func (p *Picture) otherBackgrounds(y int, columns []int, grounds map[pty.Colour]bool) (found, others int) {
	found = -1
	for i, x := range columns {
		switch {
		case grounds[p.cell(x, y).Bg]:
		case found < 0:
			found = i
		default:
			others++
		}
	}
	return found, others
}

// optionRow returns the row with the options and the column of each.
func (p *Picture) optionRow(options []string) (y int, columns []int) {
	for y := len(p.rows) - 1; y >= 0; y-- {
		if columns := columnsOf(p.rows[y], options); columns != nil {
			return y, columns
		}
	}
	return -1, nil
}

// columnsOf returns the columns of texts in a row of narrow characters, where they stand
// in order. It returns nil when one is missing.
func columnsOf(row string, texts []string) []int {
	var columns []int
	at := 0
	for _, text := range texts {
		i := strings.Index(row[at:], text)
		if i < 0 {
			return nil
		}
		columns = append(columns, utf8.RuneCountInString(row[:at+i]))
		at += i + len(text)
	}
	return columns
}

// backgroundOf returns the background of most cells of a row.
func (p *Picture) backgroundOf(y int) pty.Colour {
	count := map[pty.Colour]int{}
	var most pty.Colour
	for x := range p.Screen.Cols {
		bg := p.cell(x, y).Bg
		if count[bg]++; count[bg] > count[most] {
			most = bg
		}
	}
	return most
}
