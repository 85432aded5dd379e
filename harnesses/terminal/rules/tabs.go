package rules

import (
	"unicode/utf8"

	"coleo.dev/pty"
)

// pageOf returns which one of several questions a picture shows, and how many there are.
// The page is 0 if no name or more than one stands out.
func (d *DialogRule) pageOf(p *Picture) (page, pages int) {
	if d.tabs == nil {
		return 0, 0
	}
	for y := len(p.rows) - 1; y >= 0; y-- {
		m := d.tabs.FindStringSubmatchIndex(p.rows[y])
		if m == nil {
			continue
		}
		var columns []int
		for _, name := range d.tab.FindAllStringSubmatchIndex(p.rows[y][m[2]:m[3]], -1) {
			columns = append(columns, utf8.RuneCountInString(p.rows[y][:m[2]+name[2]]))
		}
		if p.cell == nil {
			return 0, len(columns)
		}
		ground := p.backgroundOf(y)
		page := onlyOne(columns, func(x int) bool { return p.cell(x, y).Bg != ground })
		if page == 0 {
			page = onlyOne(columns, func(x int) bool { return isBold(p.cell(x, y)) })
		}
		return page, len(columns)
	}
	return 0, 0
}

func isBold(c pty.Cell) bool { return c.Bold }

// onlyOne returns the number of the only column that holds, from 1. It returns 0 if none
// or several do.
func onlyOne(columns []int, holds func(x int) bool) int {
	found := 0
	for i, x := range columns {
		switch {
		case !holds(x):
		case found > 0:
			return 0
		default:
			found = i + 1
		}
	}
	return found
}
