package terminal

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/pty"
)

// cursorEdge, as a composer's lower edge, stands for the cursor's own row.
const cursorEdge = "cursor"

// Values of Composer.Cursor: where the cursor must be. An overlay takes the cursor away.
// So does the end of the agent CLI, which leaves the composer's picture behind.
const (
	cursorInside     = "inside"
	cursorNotOutside = "not outside"
)

// pasteMode is the mode by which some agent CLIs show that they take input. A mode that
// was never switched on may still be on. It may have been switched on before the terminal
// was there, or the recording may lack that.
const pasteMode = string(pty.ModeBracketedPaste)

// region names a part of the screen that a condition looks at:
//
//	screen            all rows
//	bottom N          the last N rows that are not blank
//	cursor            the cursor's row
//	cursor line       the cursor's row and the rows above it whose text continues in
//	                  it, judged by their length
//	wrapped line      the cursor's row and the rows above it that the terminal wrapped
//	title             the window title
//	modes             the names of the terminal modes that are on, one per row;
//	                  "bracketed_paste?" where it is not known whether that one is on
//	composer          the composer's text
//	below composer    the rows below it
//	above composer N  the last N rows above it that are not blank
//
// A region that is not there, such as a composer that is not on the screen, matches
// nothing. A condition with Not holds there.
type region struct {
	name string
	n    int
}

var regionForms = regexp.MustCompile(`^(screen|cursor|cursor line|wrapped line|title|modes|composer|below composer|(bottom|above composer) ([1-9][0-9]?))$`)

func parseRegion(s string) (region, error) {
	m := regionForms.FindStringSubmatch(s)
	if m == nil {
		return region{}, fmt.Errorf("%q is no part of a screen: use screen, bottom N, cursor, cursor line, wrapped line, title, modes, composer, below composer or above composer N", s)
	}
	if m[2] == "" {
		return region{name: s}, nil
	}
	n, err := strconv.Atoi(m[3])
	return region{name: m[2], n: n}, err
}

// frame is one picture, prepared for the rules.
type frame struct {
	screen   coleo.Screen
	rows     []string // with no-break spaces replaced by plain ones
	composer *composerView
	cell     func(x, y int) pty.Cell // nil where the picture has text alone
	memo     memo                    // answers from earlier pictures; nil: every condition is evaluated
}

// composerView is the composer on one picture.
type composerView struct {
	top, bottom int    // the composer's rows are [top, bottom)
	text        string // rows joined by \n, edges trimmed
	empty       bool
}

func newFrame(s coleo.Screen, c *Composer) *frame {
	f := &frame{screen: s, rows: make([]string, len(s.Lines))}
	for i, line := range s.Lines {
		f.rows[i] = strings.TrimRight(strings.ReplaceAll(line, "\u00a0", " "), " ")
	}
	c.cutSide(f.rows)
	f.composer = c.find(f)
	return f
}

// region returns the rows of a region, and whether the region is there at all.
func (f *frame) region(r region) ([]string, bool) {
	switch r.name {
	case "screen":
		return f.rows, true
	case "bottom":
		return lastRows(f.rows, r.n), true
	case "cursor":
		return []string{f.cursorRow()}, true
	case "cursor line":
		return []string{f.cursorLine()}, true
	case "wrapped line":
		return []string{f.wrappedLine()}, true
	case "title":
		return []string{f.screen.Title}, true
	case "modes":
		return f.modes(), true
	}
	if f.composer == nil {
		return nil, false
	}
	switch r.name {
	case "composer":
		return strings.Split(f.composer.text, "\n"), true
	case "below composer":
		return f.rows[f.composer.bottom:], true
	default: // above composer
		return lastRows(f.rows[:f.composer.top], r.n), true
	}
}

func (f *frame) cursorRow() string {
	if y := f.cursorY(); y < len(f.rows) {
		return f.rows[y]
	}
	return ""
}

// cursorLine returns the cursor's row together with the rows above that continue in it. A
// row continues when the first character of the next one had no room in it. Rows that
// draw a line do not continue.
func (f *frame) cursorLine() string {
	line := f.cursorRow()
	for y := min(f.cursorY(), len(f.rows)) - 1; y >= 0; y-- {
		row := f.rows[y]
		_, first := utf8.DecodeRuneInString(line)
		if pty.Cells(row)+max(1, pty.Cells(line[:first])) <= f.screen.Cols || strings.Trim(row, frames) == "" {
			break
		}
		line = row + line
	}
	return line
}

// wrappedLine returns the cursor's row together with the rows that the terminal wrapped
// into it.
func (f *frame) wrappedLine() string {
	line, wrapped := f.cursorRow(), f.screen.Wrapped
	for y := f.cursorY(); 0 < y && y < len(wrapped) && y < len(f.rows) && wrapped[y]; y-- {
		line = f.rows[y-1] + line
	}
	return line
}

// cursorY returns the cursor's row, or the last row with text where the cursor's row is
// not known.
func (f *frame) cursorY() int {
	if y := f.screen.Cursor[1]; y >= 0 {
		return y
	}
	for y := len(f.rows) - 1; y > 0; y-- {
		if f.rows[y] != "" {
			return y
		}
	}
	return 0
}

// allows reports whether the cursor is where the composer's rule requires it.
func (c *Composer) allows(f *frame, top, bottom int) bool {
	y := f.screen.Cursor[1]
	if c.Cursor == "" || y < 0 {
		return true
	}
	if !f.screen.CursorVisible {
		return c.Cursor == cursorNotOutside
	}
	return top <= y && y < bottom
}

func (f *frame) modes() []string {
	var on []string
	for name, set := range f.screen.Modes {
		if set {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	if _, known := f.screen.Modes[pasteMode]; !known {
		on = append(on, pasteMode+"?")
	}
	return on
}

// lastRows returns the last n rows that are not blank, in order.
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

// find returns the composer, or nil when it is not on the picture.
func (c *Composer) find(f *frame) *composerView {
	if c.Mode != "" && !f.screen.Modes[c.Mode] {
		return nil
	}
	bottom := c.findBottom(f)
	if bottom < 0 || c.Leaves && f.wrappedLine() == "" {
		return nil
	}
	top := c.findTop(f, bottom)
	bottom = c.nearest(f, top, bottom)
	if top < 0 || top >= bottom {
		return nil
	}
	if c.first != nil && !c.first.MatchString(f.rows[top]) && !c.Tall || !c.allows(f, top, bottom) {
		return nil
	}
	v := &composerView{top: top, bottom: bottom, text: c.text(f.rows[top:bottom])}
	v.empty = v.text == "" || c.empty != nil && c.empty.MatchString(v.text)
	return v
}

// findBottom returns the row after the composer's last row, or -1 without one. When
// somebody has moved up in a long text, the rest of that text is below the cursor's row.
func (c *Composer) findBottom(f *frame) int {
	if c.Bottom == cursorEdge {
		bottom := min(f.cursorY()+1, len(f.rows))
		for i := len(f.rows) - 1; i >= bottom && bottom > 0 && c.first != nil; i-- {
			if c.first.MatchString(f.rows[i]) {
				return i + 1
			}
		}
		return bottom
	}
	for i := len(f.rows) - 1; i >= 0; i-- {
		if c.bottom.MatchString(f.rows[i]) {
			return i
		}
	}
	return -1
}

// nearest returns the first lower edge below the upper edge at top, if it is above
// bottom. Gemini CLI 0.61.0 leaves an old lower edge on a low screen, below its own.
func (c *Composer) nearest(f *frame, top, bottom int) int {
	if c.top == nil || c.bottom == nil || top < 1 || !c.top.MatchString(f.rows[top-1]) {
		return bottom
	}
	for i := top; i < bottom; i++ {
		if c.bottom.MatchString(f.rows[i]) {
			return i
		}
	}
	return bottom
}

// findTop returns the composer's first row, or -1 without one.
func (c *Composer) findTop(f *frame, bottom int) int {
	switch {
	case c.row != nil:
		top := bottom
		for top > 0 && c.row.MatchString(f.rows[top-1]) {
			top--
		}
		return top
	case c.top != nil:
		for i := bottom - 1; i >= 0; i-- {
			if c.top.MatchString(f.rows[i]) {
				return c.behindHead(f, i+1, bottom)
			}
		}
		return c.run(f, bottom)
	default: // the composer begins where its first row is
		for i := bottom - 1; i >= 0; i-- {
			if c.first != nil && c.first.MatchString(f.rows[i]) {
				return i
			}
		}
		if y := f.screen.Cursor[1]; c.Tall && f.screen.CursorVisible && 0 <= y && y < bottom {
			return 0
		}
		return -1
	}
}

// run returns the first of the rows above bottom that all look like a first row. They are
// what is left of a composer whose upper edge has scrolled away. run returns -1 where
// only one row can look like that.
func (c *Composer) run(f *frame, bottom int) int {
	if c.head == nil || c.first == nil {
		return -1
	}
	top := bottom
	for top > 0 && c.first.MatchString(f.rows[top-1]) {
		top--
	}
	return top
}

// behindHead returns the first row from top on that is not part of the head.
func (c *Composer) behindHead(f *frame, top, bottom int) int {
	for c.head != nil && top < bottom && c.head.MatchString(f.rows[top]) {
		top++
	}
	return top
}

func (c *Composer) text(rows []string) string {
	rows = slices.Clone(rows[:max(0, len(rows)-c.Drop)])
	for i, row := range rows {
		if i == 0 && c.first != nil {
			row = c.first.ReplaceAllString(row, "")
		}
		if c.strip != nil {
			row = c.strip.ReplaceAllString(row, "")
		}
		rows[i] = strings.TrimRight(row, " ")
	}
	return strings.Trim(strings.Join(rows, "\n"), "\n ")
}

// match reports whether a condition holds. It also returns the detail that the pattern
// names and the rows in which it was found.
func (f *frame) match(c *Cond) (ok bool, detail string, rows []string) {
	a := answer{ok: c.Not} // the answer where the region is not there
	if f.memo != nil {
		a, rows = f.memo.ask(f, c)
	} else if all, there := f.region(c.where); there {
		a, rows = f.answer(c, all, strings.Join(all, "\n")), all
	}
	if !a.ok {
		return false, "", nil
	}
	return true, a.detail, rows[a.from:a.end]
}

// answer evaluates a condition on the rows of its region. text is those rows joined.
func (f *frame) answer(c *Cond, rows []string, text string) answer {
	var m []int
	if c.mayMatch(text) {
		m = c.pattern.FindStringSubmatchIndex(text)
	}
	found := m != nil && (c.Colour == "" || f.inHue(c, rows, f.rowNumbers(c.where)))
	switch {
	case found == c.Not:
		return answer{}
	case c.Not:
		return answer{ok: true}
	}
	a := answer{ok: true, from: strings.Count(text[:m[0]], "\n")}
	a.end = a.from + strings.Count(text[m[0]:m[1]], "\n") + 1
	if i := c.pattern.SubexpIndex("detail"); i >= 0 && m[2*i] >= 0 {
		a.detail = text[m[2*i]:m[2*i+1]]
	}
	return a
}

func (f *frame) matchAll(conds []Cond) (ok bool, detail string, rows []string) {
	for i := range conds {
		hit, d, r := f.match(&conds[i])
		if !hit {
			return false, "", nil
		}
		if d != "" {
			detail = d
		}
		rows = append(rows, r...)
	}
	return true, detail, rows
}
