package terminal

import (
	"strings"
	"unicode/utf8"

	"coleo.dev/pty"
)

// marked returns which of the options is shown on a background of its own, -1
// when that cannot be seen or is not one alone. The options stand on one row,
// the lowest that holds all of them. What is the ground of some row is no mark:
// buttons may stand on that of the box above them.
func (f *frame) marked(options []string) int {
	y, columns := f.optionRow(options)
	if f.cell == nil || y < 0 {
		return -1
	}
	grounds := map[pty.Colour]bool{f.ground(y): true}
	found, others := f.apart(y, columns, grounds)
	for row := range y {
		if others == 0 {
			break
		}
		grounds[f.ground(row)] = true
		found, others = f.apart(y, columns, grounds)
	}
	if others > 0 {
		return -1
	}
	return found
}

// apart returns the first of the columns of a row whose background is none of
// the grounds, -1 without one, and how many others there are.
func (f *frame) apart(y int, columns []int, grounds map[pty.Colour]bool) (found, others int) {
	found = -1
	for i, x := range columns {
		switch {
		case grounds[f.cell(x, y).Bg]:
		case found < 0:
			found = i
		default:
			others++
		}
	}
	return found, others
}

// optionRow returns the row with the options and the column of each.
func (f *frame) optionRow(options []string) (y int, columns []int) {
	for y := len(f.rows) - 1; y >= 0; y-- {
		if columns := columnsOf(f.rows[y], options); columns != nil {
			return y, columns
		}
	}
	return -1, nil
}

// columnsOf finds texts in their order in a row of narrow characters; nil when
// one is missing.
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

// ground is the background that most of a row has.
func (f *frame) ground(y int) pty.Colour {
	count := map[pty.Colour]int{}
	var most pty.Colour
	for x := range f.screen.Cols {
		bg := f.cell(x, y).Bg
		if count[bg]++; count[bg] > count[most] {
			most = bg
		}
	}
	return most
}
