package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"coleo.dev/pty"
)

// colours are the names of colors in a condition. A color has one of these names if that component of
// its RGB value is stronger than the other two. All shades of a color have the same name. A theme can
// choose any shade of red for its errors, but it rarely chooses another color.
var colours = []string{"red", "green", "blue"}

// colourOf returns the strongest component of a color: "red", "green" or "blue". It must be at least
// a quarter stronger than each other component. Otherwise, and for the default color, colourOf
// returns "". For the first sixteen palette colors, colourOf uses the default values of terminals.
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

// hasColour reports whether the condition's pattern matches a text in the condition's color. It
// checks the color of the group "mark" of the pattern or, without this group, of the first character
// of the match.
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

// markedOption returns the index of the option whose background stands out. It returns -1 if no option
// or more than one stands out.
//
// All options are on one row, and markedOption uses the lowest row that shows all of them. The most frequent
// background of this row is ordinary, and any other background stands out. Buttons can have the background of
// the box above them. So if several options stand out, the most frequent backgrounds of the rows above are
// ordinary too. If several options still stand out, optionOfFrame decides.
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
		return p.optionOfFrame(y, columns)
	}
	return found
}

// optionOfFrame returns the index of the only option whose background has the color of the frame. It
// returns -1 if no option or more than one has this background. The color of the frame is the
// foreground of the first character in row y that is not blank.
//
// OpenCode 1.18.33 makes this necessary: in a theme without a background, the background of each of its
// buttons stands out.
func (p *Picture) optionOfFrame(y int, columns []int) int {
	frame := p.cell(len(p.rows[y])-len(strings.TrimLeft(p.rows[y], " ")), y).Fg
	found := -1
	for i, x := range columns {
		switch {
		case p.cell(x, y).Bg != frame:
		case found >= 0:
			return -1
		default:
			found = i
		}
	}
	return found
}

// otherBackgrounds searches the given columns of row y for cells whose background is not in `grounds`.
// `found` is the index in `columns` of the first such cell, or -1. `others` is the number of further
// such cells.
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

// optionRow returns the lowest row that shows all options, with the column of each option, or -1 if
// there is no such row.
func (p *Picture) optionRow(options []string) (y int, columns []int) {
	for y := len(p.rows) - 1; y >= 0; y-- {
		if columns := columnsOf(p.rows[y], options); columns != nil {
			return y, columns
		}
	}
	return -1, nil
}

// columnsOf returns, for each text, the column of the row at which the text begins. It returns nil if a
// text is missing, or if the texts are in another order. Each character of the row must be one cell
// wide.
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

// backgroundOf returns the most frequent background of the cells in row y.
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

// optionMark is the place and the colors of one option in the rows of a dialog.
type optionMark struct {
	row, tail   int        // row is the index of the row; tail is the offset of a sign of an earlier choice (✔), or -1
	label, sign pty.Colour // the color of the label's first character, and the color of the row's last character
	mark        pty.Colour // color of the mark; the default color if the option is not marked
}

// dropTails removes the sign of an earlier choice, such as ✔, from the end of the option that the user
// chose before: see DialogRule.Tail. The options are below the row `title`.
//
// On a screen with colors, the sign of that option has a color that no mark and no other label has. If
// another option has the same sign at the end of its label, dropTails keeps that sign.
//
// If all marks have the default color, the screen has no colors. dropTails then removes the sign from
// all options, if the conditions TailWhen hold or if there are none.
func (d *DialogRule) dropTails(p *Picture, w wrappedRows, title int) {
	if d.tail == nil || d.option == nil {
		return
	}
	var options []optionMark
	usual := map[pty.Colour]bool{0: true}
	for i := title + 1; i < len(w.rows); i++ {
		if m := d.option.FindStringSubmatchIndex(w.rows[i]); m != nil {
			o := d.optionMark(p, w, i, m)
			options, usual[o.mark] = append(options, o), true
		}
	}
	colourless := len(usual) == 1
	dropsAll := colourless && (len(d.TailWhen) == 0 || p.Shows(d.TailWhen))
	for i, o := range options {
		sameColour := func(other optionMark) bool { return other.label == o.sign }
		others := slices.Concat(options[:i], options[i+1:])
		chosen := !colourless && !usual[o.sign] && !slices.ContainsFunc(others, sameColour)
		if o.tail >= 0 && (chosen || dropsAll) {
			w.rows[o.row] = w.rows[o.row][:o.tail]
		}
	}
}

// optionMark reads the option in row i. The parameter m is the match of the pattern `option`. The tail of an
// option is the sign of an earlier choice after the option's label. An option with the group `tick` has no
// tail, because its tick already shows the choice.
func (d *DialogRule) optionMark(p *Picture, w wrappedRows, i int, m []int) optionMark {
	row, o := w.rows[i], optionMark{row: i, tail: -1}
	group := func(name string) (at int, text string) {
		if g := d.option.SubexpIndex(name); g >= 0 && m[2*g] >= 0 {
			return m[2*g], row[m[2*g]:m[2*g+1]]
		}
		return -1, ""
	}
	if at, _ := group("tick"); at >= 0 {
		return o
	}
	if tail := d.tail.FindStringIndex(row); tail != nil {
		o.tail = tail[0]
	}
	before := max(0, strings.Index(w.plain[i], row)) // length of the text at the row's left that `strip` has removed
	colour := func(at int) pty.Colour {
		if p.cell == nil {
			return 0
		}
		return p.cell(pty.Cells(w.plain[i][:before+at]), i).Fg
	}
	if at, text := group("mark"); strings.TrimSpace(text) != "" {
		o.mark = colour(at)
	}
	label, _ := group("label")
	_, last := utf8.DecodeLastRuneInString(row)
	o.label, o.sign = colour(label), colour(len(row)-last)
	return o
}
