package rules

import (
	"strings"
	"unicode/utf8"

	"coleo.dev/pty"
)

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
