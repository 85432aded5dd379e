package fakeagent

import (
	"fmt"
	"io"
	"strings"
)

// dialog is an open question. When the user has answered, the fake sends the index of the chosen
// option on the dialog's channel. If the user has chosen no option, it sends -1.
type dialog struct {
	head    string
	subject string
	title   string
	options []string
	at      int // index of the marked option
	esc     int // index of the option that Esc chooses; -1 for none
	answer  chan int
}

// permission returns a dialog that asks for permission to carry out the described action.
func permission(subject string) *dialog {
	return &dialog{
		head: "Permission required", subject: subject, title: "Do you want to proceed?", options: options[:],
		esc:    refused,
		answer: make(chan int, 1),
	}
}

// options lists the options of each permission dialog, in order.
var options = [...]string{"Yes", "Yes, and do not ask again", "No"}

// These constants are indexes of `options`. `forEver` is the index of the option that allows an action
// permanently. `refused` is the index of the option that denies an action. Esc chooses this option, too.
const (
	forEver = 1
	refused = len(options) - 1
)

// modes lists the modes of the fake, in the order in which Shift-Tab switches between them. The
// footer names every mode except the first one.
var modes = [...]string{"", acceptEdits, "plan"}

// acceptEdits is the mode in which the fake writes files without asking.
const acceptEdits = "accept edits"

// write writes text to the terminal. It ignores errors, because the loop that reads keys notices if
// the terminal is gone.
func (p *program) write(s string) { _, _ = io.WriteString(p.out, s) }

// redraw locks mu and calls draw.
func (p *program) redraw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw()
}

// draw draws the whole screen as one synchronized update. The caller must hold mu.
func (p *program) draw() {
	if p.dark || p.foreign || p.state == "" {
		return
	}
	cols, rows := size(p.in)
	var below []string
	cursor := ""
	if p.dialog != nil {
		below = p.dialogLines(cols)
	} else {
		below, cursor = p.composerLines(cols, rows)
	}
	lines := append(p.transcriptRows(cols, rows), below...)
	if extra := len(lines) - rows; extra > 0 {
		lines = lines[extra:]
	}
	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[?25l\x1b[H")
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + "\x1b[K")
	}
	b.WriteString("\x1b[J")
	if cursor != "" {
		fmt.Fprintf(&b, "\x1b[%d;%sH\x1b[?25h", len(lines)-2, cursor)
	}
	b.WriteString("\x1b[?2026l")
	p.write(b.String())
}

// composerLines returns the lines of the composer, the rules around it, and the footer. It also
// returns the column of the cursor, which is on the last line of the composer's text.
func (p *program) composerLines(cols, rows int) (lines []string, column string) {
	rule := strings.Repeat("─", cols)
	text := wrap(p.composer, cols-3)
	if most := max(rows-4, 1); len(text) > most {
		text = text[len(text)-most:]
	}
	lines = append(lines, rule)
	for i, line := range text {
		mark := "  "
		if i == 0 {
			mark = "❯ "
		}
		lines = append(lines, mark+line)
	}
	footer := "  ? for help"
	if p.mode > 0 {
		footer += " · " + modes[p.mode]
	}
	switch {
	case p.trying != "":
		footer = "  trying again, " + p.trying
	case p.state == "busy":
		footer = "  working · esc to interrupt"
	}
	return append(lines, rule, footer), fmt.Sprint(3 + width(text[len(text)-1]))
}

func (p *program) dialogLines(cols int) []string {
	lines := []string{strings.Repeat("─", cols), "  " + p.dialog.head}
	if p.dialog.subject != "" {
		for _, line := range wrap(p.dialog.subject, cols-3) {
			lines = append(lines, "  "+line)
		}
	}
	lines = append(lines, "  "+p.dialog.title)
	for i, o := range p.dialog.options {
		mark := "  "
		if i == p.dialog.at {
			mark = "❯ "
		}
		lines = append(lines, fmt.Sprintf("  %s%d. %s", mark, i+1, o))
	}
	return append(lines, "  Esc to cancel")
}

// transcriptRows returns the end of the transcript, broken into lines that fit the screen. If the
// transcript is long enough, the result has at least as many lines as the screen.
func (p *program) transcriptRows(cols, rows int) []string {
	from, have := len(p.transcript), 0
	for from > 0 && have < rows {
		from--
		// The line has at least so many rows, because a character needs at most 4 bytes per cell.
		have += 1 + len(p.transcript[from])/max(4*cols, 1)
	}
	var lines []string
	for _, line := range p.transcript[from:] {
		for most := 4 * cols * rows; len(line) > most; { // only the end of a very long line is visible
			line = strings.ToValidUTF8(line[len(line)-most:], "")
		}
		lines = append(lines, wrap(line, cols-1)...)
	}
	return lines
}

// wrap breaks text into lines of at most `cols` cells. It always returns at least one
// line.
func wrap(text string, cols int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		var b strings.Builder
		at := 0
		for _, r := range line {
			if w := width(string(r)); at+w > cols {
				lines = append(lines, b.String())
				b.Reset()
				at = w
			} else {
				at += w
			}
			b.WriteRune(r)
		}
		lines = append(lines, b.String())
	}
	return lines
}

// width returns how many cells s needs. An East Asian wide character needs two cells.
func width(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
			r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 &&
			r <= 0x1faff {
			n++
		}
	}
	return n
}
