package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"coleo.dev/pty"
)

// cutSidebar removes a sidebar on the right from the rows, if there is a sidebar.
func (c *Composer) cutSidebar(rows []string) {
	if c.side == nil {
		return
	}
	last := lastRows(rows, 1)
	if len(last) == 0 {
		return
	}
	at := c.side.FindStringIndex(last[0])
	if at == nil {
		return
	}
	edge := pty.Cells(last[0][:at[0]])
	for i, row := range rows {
		if len(row) > edge { // a row with fewer bytes has fewer cells too, so it does not reach the edge
			rows[i] = pty.Cut(row, edge)
		}
	}
}

// cursorEdge is the special value of Composer.Bottom for a composer without a lower edge. Such a
// composer ends at the cursor's row, or below that row if its text continues there.
const cursorEdge = "cursor"

// cursorInside and cursorNotOutside are the values of Composer.Cursor. They say where the cursor must
// be, so that the composer counts as present. When an overlay opens or the agent CLI ends, the composer
// stays on the screen, but the cursor leaves it.
const (
	cursorInside     = "inside"
	cursorNotOutside = "not outside"
)

// pasteMode is the terminal mode that some agent CLIs switch on while they accept input. Coleo can miss
// the moment at which an agent CLI switches it on: Coleo may have begun to read later, or a recording
// may lack that moment. So the mode can be on although Coleo does not know it.
const pasteMode = string(pty.ModeBracketedPaste)

// ComposerView is the composer on one picture.
type ComposerView struct {
	top, bottom int    // the composer's rows are rows[top:bottom]
	Text        string // the rows joined by \n, without blanks at both ends
	Empty       bool
}

// Composer describes the area where the agent CLI accepts text: the rows between an upper and a
// lower edge.
type Composer struct {
	// Bottom is the pattern of the row below the composer: `^─{20,}`. Coleo searches for that row from the
	// bottom of the screen up. The special value `cursor` means that the composer ends at the cursor's row.
	// The key is required.
	Bottom patternText `toml:"bottom"`
	// Leaves reports whether the composer counts as absent while the cursor is on an empty row. Set
	// this key if the cursor moves to an empty row when the agent CLI accepts the text above that
	// row. A row that the terminal has wrapped does not count as empty.
	Leaves bool `toml:"leaves"`
	// Top is the pattern of the row above the composer: `^─{20,}`. Without `top` and `row`, the
	// composer begins at the row that matches `first`.
	Top patternText `toml:"top"`
	// Row is the pattern of each row of the composer. It replaces `top`. With `row`, the composer
	// consists of all consecutive matching rows right above the row that matches `bottom`.
	Row patternText `toml:"row"`
	// First is the pattern of the beginning of the composer's first row: `^❯ ?`. That row must
	// match. Coleo removes the match from the text.
	First patternText `toml:"first"`
	// Head is the pattern of rows that do not belong to the composer, such as a title. These rows
	// are between the row of `top` and the composer's first row.
	Head patternText `toml:"head"`
	// Tall reports whether the composer can be taller than the screen. If its first row is out of
	// sight, the composer begins at the top of the screen. This applies only while the cursor is
	// above the row of `bottom`.
	Tall bool `toml:"tall"`
	// Strip is the pattern of the text that Coleo removes from each row, such as an indent of two
	// blanks: `^ {2}`. Another example is a frame on both sides.
	Strip patternText `toml:"strip"`
	// Side is the pattern of the beginning of a sidebar in the screen's last row. The sidebar
	// begins at the column of the match. Coleo removes the sidebar before it applies any other
	// pattern.
	Side patternText `toml:"side"`
	// Drop is the number of rows without text at the composer's end.
	Drop int `toml:"drop"`
	// Empty is the pattern of the composer's text when the composer is empty and shows only a hint:
	// `^Type a message`.
	Empty patternText `toml:"empty"`
	// Held is the pattern of the composer's text when the composer shows a note in place of a large
	// paste: `\[Pasted text #\d+`.
	Held patternText `toml:"held"`
	// Tab is the text that the composer shows in place of a tab. Use this key only if the text is
	// not blanks.
	Tab string `toml:"tab"`
	// TabGarbles reports whether the agent CLI draws rows over each other after a tab. Coleo then cannot
	// compare the whole text if it has tabs. It only compares the beginning of the composer with that of
	// the text, and the composer's last row with the end of the text.
	TabGarbles bool `toml:"tab_garbles"`
	// Mode is a terminal mode that must be on: `bracketed_paste`. Use this key for an agent CLI
	// that switches the mode on only while it accepts input.
	Mode string `toml:"mode"`
	// Cursor is the required place of the cursor: `inside` or `not outside` the composer. Use this
	// key if the composer stays on the screen when the agent CLI opens an overlay. With `inside`
	// the cursor must also be visible.
	Cursor string `toml:"cursor"`
	// Open reports whether the lower edge can be missing, such as in a theme without a background.
	// If no row matches `bottom`, the composer consists of the consecutive rows around the cursor
	// that match `row`. The key needs `row` and `cursor = "inside"`.
	Open bool `toml:"open"`
	// Refuse is the pattern of prompts that the agent CLI would treat as commands: `^[/!]`.
	Refuse patternText `toml:"refuse"`
	// Never is the pattern of prompts that Coleo always refuses: `^\s*&`. The agent CLI would not
	// treat such a prompt as text, even with `lead` before it, and the prompt would be lost.
	Never patternText `toml:"never"`
	// Lead is the text that Coleo types before prompts that match `refuse`, such as a blank.
	// Without this key, Coleo refuses those prompts.
	Lead string `toml:"lead"`
	// Trap is the pattern of the screen while the submit keys would not send a prompt. An example is the
	// shell mode of the agent CLI: `(?m)^ ! for bash mode`.
	Trap patternText `toml:"trap"`
	// Breaks reports whether the submit keys sometimes only add an empty row below the text. If
	// Coleo sees such a row, it presses the submit keys once more.
	Breaks bool `toml:"breaks"`

	bottom, top, row, first, head, strip, side, empty, held, refuse, never, trap *regexp.Regexp
}

func (c *compiler) composer(b *Composer) {
	if b.Bottom != cursorEdge {
		b.bottom = c.regexp("composer.bottom", b.Bottom)
	}
	c.regexps("composer.", map[string]pattern{
		"top": {b.Top, &b.top}, "row": {b.Row, &b.row}, "first": {b.First, &b.first}, "head": {b.Head, &b.head},
		"strip": {b.Strip, &b.strip}, "side": {b.Side, &b.side}, "empty": {b.Empty, &b.empty},
		"held":   {b.Held, &b.held},
		"refuse": {b.Refuse, &b.refuse}, "never": {b.Never, &b.never}, "trap": {b.Trap, &b.trap},
	})
	if b.Cursor != "" && b.Cursor != cursorInside && b.Cursor != cursorNotOutside {
		c.fail("composer.cursor", "composer.cursor must be %q or %q, not %q", cursorInside, cursorNotOutside, b.Cursor)
	}
	if b.Open && (b.Row == "" || b.Cursor != cursorInside) {
		c.fail("composer.open", "composer.open needs row, and cursor = %q", cursorInside)
	}
	if b.Bottom == "" {
		c.fail("composer.bottom", "composer.bottom is missing: without it nothing can be typed safely")
	}
}

// find returns the composer on a picture, or nil if the picture shows no composer.
func (c *Composer) find(p *Picture) *ComposerView {
	if c.Mode != "" && !p.Screen.Modes[c.Mode] {
		return nil
	}
	bottom := c.findBottom(p)
	if bottom < 0 || c.Leaves && p.wrappedLine() == "" {
		return nil
	}
	top := c.findTop(p, bottom)
	bottom = c.nearestBottom(p, top, bottom)
	if top < 0 || top >= bottom || c.isForWider(p, top, bottom) {
		return nil
	}
	if c.first != nil && !c.first.MatchString(p.rows[top]) && !c.Tall || !c.allowsCursor(p, top, bottom) {
		return nil
	}
	v := &ComposerView{top: top, bottom: bottom, Text: c.text(p.rows[top:bottom])}
	v.Empty = v.Text == "" || c.empty != nil && c.empty.MatchString(v.Text)
	return v
}

// isForWider reports whether the picture was drawn for a wider terminal: the terminal was resized, and the
// agent CLI has not drawn since. An edge of the composer then continues the row above it. Such a picture
// proves nothing, because parts of a dialog around the composer can be in places where no rule finds them.
func (c *Composer) isForWider(p *Picture, top, bottom int) bool {
	return c.top != nil && c.top.MatchString(p.rowAt(top-1)) && p.continuesLine(top-1) ||
		c.bottom != nil && c.bottom.MatchString(p.rowAt(bottom)) && p.continuesLine(bottom)
}

// rowAt returns a row of the picture, or "" if it has no such row.
func (p *Picture) rowAt(y int) string {
	if y < 0 || y >= len(p.rows) {
		return ""
	}
	return p.rows[y]
}

// continuesLine reports whether row y continues a line of one repeated character, such as "────", in the row above.
// Screen.Wrapped alone is no proof. OpenCode 1.18.33 writes a row anew without a line break, so the row still counts
// as wrapped.
func (p *Picture) continuesLine(y int) bool {
	if y < 1 || y >= len(p.Screen.Wrapped) || !p.Screen.Wrapped[y] {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(p.rowAt(y - 1))
	first, _ := utf8.DecodeRuneInString(p.rowAt(y))
	return first == last
}

// allowsCursor reports whether c.Cursor allows the cursor's place. The composer's rows have the
// indexes from topRow to endRow-1.
func (c *Composer) allowsCursor(p *Picture, topRow, endRow int) bool {
	y := p.Screen.Cursor[1]
	if c.Cursor == "" || y < 0 {
		return true
	}
	if !p.Screen.CursorVisible {
		return c.Cursor == cursorNotOutside
	}
	return topRow <= y && y < endRow
}

// findBottom returns the index of the row after the composer's last row, or -1 if the picture shows no
// lower edge.
//
// A composer with the lower edge `cursor` ends at the cursor's row. But somebody may have moved the cursor up
// in a long text. So if a row further down matches c.first, the composer ends at the last such row.
func (c *Composer) findBottom(p *Picture) int {
	if c.Bottom == cursorEdge {
		bottom := min(p.cursorY()+1, len(p.rows))
		for i := len(p.rows) - 1; i >= bottom && bottom > 0 && c.first != nil; i-- {
			if c.first.MatchString(p.rows[i]) {
				return i + 1
			}
		}
		return bottom
	}
	for i := len(p.rows) - 1; i >= 0; i-- {
		if c.bottom.MatchString(p.rows[i]) {
			return i
		}
	}
	if c.Open {
		return c.openBottom(p)
	}
	return -1
}

// openBottom is for a composer whose lower edge is missing: see Composer.Open. It returns the index of
// the row after the consecutive composer rows around the cursor. It returns -1 if the cursor is not in
// a composer row.
func (c *Composer) openBottom(p *Picture) int {
	y := p.Screen.Cursor[1]
	if y < 0 || y >= len(p.rows) || !p.Screen.CursorVisible || !c.row.MatchString(p.rows[y]) {
		return -1
	}
	for y < len(p.rows) && c.row.MatchString(p.rows[y]) {
		y++
	}
	return y
}

// nearestBottom returns the index of the topmost row from topRow to endRow-1 that matches the lower
// edge, or endRow if there is none. It is needed because on a screen with few rows, Gemini CLI
// 0.61.0 leaves an old lower edge below the composer's own lower edge.
func (c *Composer) nearestBottom(p *Picture, topRow, endRow int) int {
	if c.top == nil || c.bottom == nil || topRow < 1 || !c.top.MatchString(p.rows[topRow-1]) {
		return endRow
	}
	for i := topRow; i < endRow; i++ {
		if c.bottom.MatchString(p.rows[i]) {
			return i
		}
	}
	return endRow
}

// findTop returns the index of the composer's first row. It returns -1 or endRow if the picture
// does not show that row.
func (c *Composer) findTop(p *Picture, endRow int) int {
	switch {
	case c.row != nil:
		top := endRow
		for top > 0 && c.row.MatchString(p.rows[top-1]) {
			top--
		}
		return top
	case c.top != nil:
		for i := endRow - 1; i >= 0; i-- {
			if c.top.MatchString(p.rows[i]) {
				return c.belowHead(p, i+1, endRow)
			}
		}
		return c.topOfRun(p, endRow)
	default: // the composer begins at the row that matches c.first
		for i := endRow - 1; i >= 0; i-- {
			if c.first != nil && c.first.MatchString(p.rows[i]) {
				return i
			}
		}
		if y := p.Screen.Cursor[1]; c.Tall && p.Screen.CursorVisible && 0 <= y && y < endRow {
			return 0
		}
		return -1
	}
}

// topOfRun is for a composer whose upper edge has scrolled away. Directly above the row `bottom` there
// can be an unbroken run of rows that match c.first. topOfRun returns the index of the topmost row in
// this run. Without the key `head`, c.first matches only one row, so there is no such run, and topOfRun
// returns -1.
func (c *Composer) topOfRun(p *Picture, bottom int) int {
	if c.head == nil || c.first == nil {
		return -1
	}
	top := bottom
	for top > 0 && c.first.MatchString(p.rows[top-1]) {
		top--
	}
	return top
}

// belowHead skips the rows of the composer's head, and returns the first row below them.
func (c *Composer) belowHead(p *Picture, top, bottom int) int {
	for c.head != nil && top < bottom && c.head.MatchString(p.rows[top]) {
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

// EndsEmpty reports whether the last row of the composer has no text. The picture must show a
// composer.
func (p *Picture) EndsEmpty() bool {
	row := p.rows[p.Composer.bottom-1]
	if p.spec.strip != nil {
		row = p.spec.strip.ReplaceAllString(row, "")
	}
	return squeeze(row) == ""
}

// Rows returns the number of screen rows of the composer.
func (v *ComposerView) Rows() int { return v.bottom - v.top }

// EndsWith reports whether the composer's text ends with the given text. It ignores blanks.
func (v *ComposerView) EndsWith(text string) bool {
	return strings.HasSuffix(squeeze(v.Text), squeeze(text))
}

// Trapped reports whether the agent CLI is in a mode in which its composer accepts no prompt.
func (p *Picture) Trapped() bool {
	return p.spec.trap != nil && p.spec.trap.MatchString(strings.Join(p.rows, "\n"))
}
