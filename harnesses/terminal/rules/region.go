package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"coleo.dev/pty"
)

// region names a part of the screen that a condition checks:
//
//	screen            all rows
//	bottom N          the last N rows that are not blank
//	cursor            the cursor's row
//	cursor line       the cursor's row, and the rows above whose text continues into the
//	                  cursor's row, judged by the length of the rows
//	wrapped line      the cursor's row and the rows above it that the terminal wrapped
//	title             the window title
//	modes             the names of the terminal modes that are on, one per row;
//	                  "bracketed_paste?" if it is unknown whether that mode is on
//	composer          the composer's text
//	composer rows     all rows between the composer's edges, including rows that are not part of
//	                  the composer's text
//	below composer    the rows below the composer
//	above composer N  the last N rows above the composer that are not blank
//	above cursor N    the last N rows above the cursor's row that are not blank; this region
//	                  is not on the screen while the cursor is hidden
//
// If the screen does not show a region, such as a composer, no pattern matches in that region. A
// condition with Not holds for such a region.
type region struct {
	name string
	n    int
}

var regionForms = regexp.MustCompile(`^(screen|cursor|cursor line|wrapped line|title|modes|composer|composer rows|` +
	`below composer|(bottom|above composer|above cursor) ([1-9][0-9]?))$`)

// mostRowsNot is the largest number of rows that a condition with Not may look at, such as N in
// "bottom N". A larger region would contain part of the transcript. A model could then write the
// forbidden text, and the arm would be locked until that text is gone.
const mostRowsNot = 15

// isWhole reports whether a region is too large for a condition with Not: the whole screen, or more
// than mostRowsNot rows.
func (r region) isWhole() bool { return r.name == "screen" || r.n > mostRowsNot }

func parseRegion(s string) (region, error) {
	m := regionForms.FindStringSubmatch(s)
	if m == nil {
		return region{}, fmt.Errorf("%q is not a part of a screen: use screen, bottom N, cursor, cursor line, "+
			"wrapped line, title, modes, composer, composer rows, below composer, above composer N or above cursor N", s)
	}
	if m[2] == "" {
		return region{name: s}, nil
	}
	n, err := strconv.Atoi(m[3])
	return region{name: m[2], n: n}, err
}

// region returns the rows of a region, or false if the screen does not show the region.
func (p *Picture) region(r region) ([]string, bool) {
	switch r.name {
	case "screen":
		return p.rows, true
	case "bottom":
		return lastRows(p.rows, r.n), true
	case "cursor":
		return []string{p.cursorRow()}, true
	case "cursor line":
		return []string{p.cursorLine()}, true
	case "wrapped line":
		return []string{p.wrappedLine()}, true
	case "title":
		return []string{p.Screen.Title}, true
	case "modes":
		return p.modes(), true
	case "above cursor":
		if !p.showsCursor() {
			return nil, false
		}
		return lastRows(p.rows[:p.Screen.Cursor[1]], r.n), true
	}
	if p.Composer == nil {
		return nil, false
	}
	switch r.name {
	case "composer":
		return strings.Split(p.Composer.Text, "\n"), true
	case "composer rows":
		return p.rows[p.Composer.top:p.Composer.bottom], true
	case "below composer":
		return p.rows[p.Composer.bottom:], true
	default: // "above composer"
		return lastRows(p.rows[:p.Composer.top], r.n), true
	}
}

// Part returns the rows of a part of the screen, or false if the screen does not show that part. The
// parameter `name` has the form of Cond.Where.
func (p *Picture) Part(name string) (rows []string, shown bool) {
	r, err := parseRegion(name)
	if err != nil {
		return nil, false
	}
	return p.region(r)
}

func (p *Picture) cursorRow() string {
	if y := p.cursorY(); y < len(p.rows) {
		return p.rows[y]
	}
	return ""
}

// cursorLine returns the cursor's row, joined with the rows above that continue into it. A row
// continues into the next row if it had no room for the first character of the next row. A row that
// only draws a line does not continue.
func (p *Picture) cursorLine() string {
	line := p.cursorRow()
	for y := min(p.cursorY(), len(p.rows)) - 1; y >= 0; y-- {
		row := p.rows[y]
		_, first := utf8.DecodeRuneInString(line)
		if pty.Cells(row)+max(1, pty.Cells(line[:first])) <= p.Screen.Cols || strings.Trim(row, boxDrawing) == "" {
			break
		}
		line = row + line
	}
	return line
}

// showsCursor reports whether the cursor is visible and its row is known.
func (p *Picture) showsCursor() bool {
	y := p.Screen.Cursor[1]
	return p.Screen.CursorVisible && 0 <= y && y < len(p.rows)
}

// wrappedLine returns the cursor's row, joined with the rows above that the terminal has wrapped
// into it.
func (p *Picture) wrappedLine() string {
	line, wrapped := p.cursorRow(), p.Screen.Wrapped
	for y := p.cursorY(); 0 < y && y < len(wrapped) && y < len(p.rows) && wrapped[y]; y-- {
		line = p.rows[y-1] + line
	}
	return line
}

// cursorY returns the cursor's row, or the last row with text if the cursor's row is unknown.
func (p *Picture) cursorY() int {
	if y := p.Screen.Cursor[1]; y >= 0 {
		return y
	}
	for y := len(p.rows) - 1; y > 0; y-- {
		if p.rows[y] != "" {
			return y
		}
	}
	return 0
}

func (p *Picture) modes() []string {
	var on []string
	for name, set := range p.Screen.Modes {
		if set {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	if _, known := p.Screen.Modes[pasteMode]; !known {
		on = append(on, pasteMode+"?")
	}
	return on
}

// lastRows returns the last n rows that are not blank, from top to bottom.
func lastRows(rows []string, n int) []string {
	var out []string
	for i := len(rows) - 1; i >= 0 && len(out) < n; i-- {
		if rows[i] != "" {
			out = append(out, rows[i])
		}
	}
	slices.Reverse(out)
	return out
}

// rowNumbers returns the numbers of the screen rows of a region. It returns nil if the region does
// not consist of whole screen rows. The screen must show the region.
func (p *Picture) rowNumbers(r region) []int {
	switch r.name {
	case "screen":
		return upTo(0, len(p.rows))
	case "bottom":
		return p.notBlank(len(p.rows), r.n)
	case "cursor":
		return []int{p.cursorY()}
	case "composer rows":
		return upTo(p.Composer.top, p.Composer.bottom)
	case "below composer":
		return upTo(p.Composer.bottom, len(p.rows))
	case "above composer":
		return p.notBlank(p.Composer.top, r.n)
	case "above cursor":
		return p.notBlank(p.Screen.Cursor[1], r.n)
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

// notBlank returns the numbers of the last n rows that are not blank, above a given row. The parameter
// `above` is the number of that row.
func (p *Picture) notBlank(above, n int) []int {
	var out []int
	for y := above - 1; y >= 0 && len(out) < n; y-- {
		if p.rows[y] != "" {
			out = append(out, y)
		}
	}
	slices.Reverse(out)
	return out
}
