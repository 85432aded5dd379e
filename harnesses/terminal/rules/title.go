package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/pty"
)

// findTitle reads the title into the dialog. It returns the first and the last row of the title, or
// -1 if there is no title.
func (d *DialogRule) findTitle(w wrappedRows, out *coleo.Dialog) (first, last int) {
	if d.Block {
		if first, last = d.findBlock(w, out); out.Title != "" || d.title == nil {
			return first, last
		}
	}
	for i := len(w.rows) - 1; i >= 0 && d.title != nil; i-- {
		text := w.rows[i]
		for last := i; ; last++ {
			if m := d.title.FindStringSubmatch(text); m != nil {
				out.Title = strings.TrimSpace(m[min(1, len(m)-1)])
				d.chooseFrom(text, out)
				return i, last
			}
			if last-i+1 >= wrapRows || !w.continues(last) {
				break
			}
			text = w.join(text, last)
		}
	}
	if d.Heading {
		return d.findHeading(w, out)
	}
	return -1, -1
}

// findBlock reads the title from the paragraph above the options.
func (d *DialogRule) findBlock(w wrappedRows, out *coleo.Dialog) (first, last int) {
	above := d.firstOption(w.rows)
	says := func(i int) string { return strings.Trim(d.withoutGutter(w.rows[i]), boxDrawing) }
	for above > 0 && says(above-1) == "" && !d.isTop(w.rows[above-1]) {
		above--
	}
	var text []string
	at := above
	for at > 0 && says(at-1) != "" && !d.isTop(w.rows[at-1]) {
		at--
		text = append(text, says(at))
	}
	slices.Reverse(text)
	out.Title = strings.Join(text, " ")
	return at, max(at, above-1)
}

// findHeading reads the title from the lowest row that matches `top`. If this row has no text, the
// title is the next row below it that has text. Lines of a frame are not text.
func (d *DialogRule) findHeading(w wrappedRows, out *coleo.Dialog) (first, last int) {
	for i := len(w.rows) - 1; i >= 0; i-- {
		if !d.top.MatchString(w.rows[i]) {
			continue
		}
		for i < len(w.rows)-1 && strings.Trim(w.rows[i], boxDrawing) == "" {
			i++
		}
		out.Title = strings.TrimSpace(w.rows[i])
		return i, i
	}
	return -1, -1
}

func (d *DialogRule) isTop(row string) bool { return d.top != nil && d.top.MatchString(row) }

// firstOption returns the row of option 1, or the lowest such row if there are several. If no
// option 1 is on the screen, it returns the row of the topmost option. If there is no option, it
// returns 0.
func (d *DialogRule) firstOption(rows []string) int {
	number, highest := d.option.SubexpIndex("number"), 0
	for i := len(rows) - 1; i >= 0; i-- {
		if m := d.option.FindStringSubmatch(rows[i]); m != nil {
			if highest = i; m[number] == "1" {
				return i
			}
		}
	}
	return highest
}

// chooseFrom reads the options that follow the title in the same row.
func (d *DialogRule) chooseFrom(text string, out *coleo.Dialog) {
	if d.choice == nil {
		return
	}
	out.Options = nil
	for _, m := range d.choice.FindAllStringSubmatch(text, -1) {
		out.Options = append(out.Options, strings.TrimSpace(strings.Join(m[1:], "")))
	}
	if d.chosen == nil {
		return
	}
	if m := d.chosen.FindStringSubmatch(text); len(m) > 1 {
		out.Default = slices.Index(out.Options, m[1])
	}
}

const (
	// wrapMargin is the largest distance in columns between the right edge and the end of a row
	// that was wrapped. Indents, frames and scroll bars need some of these columns.
	wrapMargin = 8
	// fullMargin is like wrapMargin, but for a word that is longer than a row.
	fullMargin = 2
	// wrapRows is the largest number of rows of a title or an option.
	wrapRows = 6
)

// wrappedRows joins the rows of a text that an agent CLI has wrapped in a narrow
// terminal.
type wrappedRows struct {
	rows  []string // the rows after `strip`, to which the patterns of a dialog are applied
	plain []string // the same rows as the screen shows them
	cols  int
}

// continues reports whether the text of row i continues in the next row. That is so if row i had no
// room for the first word of the next row.
func (w wrappedRows) continues(i int) bool {
	if i+1 >= len(w.rows) || strings.TrimSpace(w.rows[i]) == "" {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(w.rows[i+1]), " ")
	return strings.Trim(word, boxDrawing) != "" && w.end(i)+1+pty.Cells(word) > w.cols-wrapMargin
}

// end returns the first column after the text of row i.
func (w wrappedRows) end(i int) int {
	text := strings.TrimSpace(w.rows[i])
	at := max(0, strings.Index(w.plain[i], text))
	return pty.Cells(w.plain[i][:at]) + pty.Cells(text)
}

// join adds the text of row i+1 to the given text, which is the joined text of the rows up to row i.
func (w wrappedRows) join(text string, i int) string {
	if w.end(i) >= w.cols && indent(w.rows[i+1]) < 2 {
		return text + w.rows[i+1] // the terminal itself has wrapped the row
	}
	next := strings.TrimSpace(w.rows[i+1])
	first, _, _ := strings.Cut(next, " ")
	last := text[strings.LastIndexByte(text, ' ')+1:]
	if w.end(i) >= w.cols-fullMargin && pty.Cells(last+first) > w.cols-wrapMargin {
		return text + next // a word that is longer than a row was broken here
	}
	if len(last) > 1 && strings.HasSuffix(last, "-") {
		return text + next // a word was broken at its hyphen
	}
	return text + " " + next
}

// indent returns the number of blanks at the beginning of a row.
func indent(row string) int { return len(row) - len(strings.TrimLeft(row, " ")) }

// pageOf is for a dialog that shows several questions one at a time. It returns the number of the
// question that the picture shows, counted from 1, and the number of all questions. The name of the
// visible question stands out from the other names. If no name or more than one stands out, page is 0.
func (d *DialogRule) pageOf(p *Picture) (page, pages int) {
	if d.tabs == nil {
		return 0, 0
	}
	for y := len(p.rows) - 1; y >= 0; y-- {
		m := d.tabs.FindStringSubmatchIndex(p.rows[y])
		if m == nil || m[2] < 0 {
			continue
		}
		var columns []int
		for _, name := range d.tab.FindAllStringSubmatchIndex(p.rows[y][m[2]:m[3]], -1) {
			if name[2] >= 0 {
				columns = append(columns, utf8.RuneCountInString(p.rows[y][:m[2]+name[2]]))
			}
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

// onlyOne returns the number of the only column for which the function `holds` returns true, counted
// from 1. It returns 0 if there is not exactly one such column.
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
