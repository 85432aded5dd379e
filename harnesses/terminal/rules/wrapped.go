package rules

import (
	"strings"

	"coleo.dev/pty"
)

const (
	// wrapMargin is how many columns before the right edge a text may be wrapped.
	// Indents, frames and scroll bars take some.
	wrapMargin = 8
	// fullMargin is the same for a word that is longer than a row.
	fullMargin = 2
	// wrapRows bounds the rows of a title or an option.
	wrapRows = 6
)

// wrappedRows joins the rows of a text that an agent CLI has wrapped in a narrow terminal.
type wrappedRows struct {
	rows  []string // as a dialog's rules see them
	plain []string // as they are on the screen
	cols  int
}

// continues reports whether the text of row i continues in the next row. It does when row i
// had no room left for the first word of the next.
func (w wrappedRows) continues(i int) bool {
	if i+1 >= len(w.rows) || strings.TrimSpace(w.rows[i]) == "" {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(w.rows[i+1]), " ")
	return strings.Trim(word, boxDrawing) != "" && w.end(i)+1+pty.Cells(word) > w.cols-wrapMargin
}

// end returns the column after the text of a row.
func (w wrappedRows) end(i int) int {
	text := strings.TrimSpace(w.rows[i])
	at := max(0, strings.Index(w.plain[i], text))
	return pty.Cells(w.plain[i][:at]) + pty.Cells(text)
}

// join appends the text of row i+1 to the text of the rows up to i.
func (w wrappedRows) join(text string, i int) string {
	if w.end(i) >= w.cols && indent(w.rows[i+1]) < 2 {
		return text + w.rows[i+1] // the terminal itself has wrapped it
	}
	next := strings.TrimSpace(w.rows[i+1])
	first, _, _ := strings.Cut(next, " ")
	last := text[strings.LastIndexByte(text, ' ')+1:]
	if w.end(i) >= w.cols-fullMargin && pty.Cells(last+first) > w.cols-wrapMargin {
		return text + next // one word, longer than a row
	}
	if len(last) > 1 && strings.HasSuffix(last, "-") {
		return text + next // one word, broken at its hyphen
	}
	return text + " " + next
}

// indent returns the number of blanks at the beginning of a row.
func indent(row string) int { return len(row) - len(strings.TrimLeft(row, " ")) }
