// Package watch is the full-screen view of one arm. It shows the arm's conversation and screen, and
// handles the user's keys. The package does not talk to serve or to the terminal itself.
package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/printable"
	"coleo.dev/pty"
)

// shortRows is the largest number of rows of a message if View.Full is not set.
const shortRows = 4

// screenShare keeps a long conversation from hiding the arm's screen. The screen keeps at least
// 1/screenShare of the rows.
const screenShare = 2

// These are the values of Message.Who.
const (
	User     = "user"
	Agent    = "agent"
	Decision = "decision"
	System   = "system" // Coleo itself has written the message
)

// Message is one message in the conversation.
type Message struct {
	Who  string
	Time time.Time
	Text string
}

// View contains what the user sees and what the user has typed.
type View struct {
	Arm      coleo.Arm
	Screen   *coleo.Screen // the arm's screen; nil if the arm has no terminal
	Messages []Message     // oldest first

	History   int  // the largest number of messages shown
	Full      bool // whether long messages are shown completely
	Interrupt bool // whether the next message interrupts the running turn
	Verbose   bool // whether the header has a second line

	Writing bool   // whether the user is writing a message
	Draft   string // text of that message
	pasting bool   // whether the next keys come from a pasted text
	Note    string // a note about the last key or message
}

// Lines returns the rows of the view for a terminal of the given size.
func (v *View) Lines(cols, rows int, now time.Time) []string {
	head, foot := v.head(cols, now), v.foot(cols)
	room := max(0, rows-len(head)-len(foot))
	talk := v.conversation(cols)
	if most := room - room/screenShare; v.Screen != nil && len(talk) > most {
		talk = talk[len(talk)-most:]
	}
	talk = talk[max(0, len(talk)-room):]
	out := slices.Concat(head, talk)
	if left := rows - len(out) - len(foot); left > 1 && v.Screen != nil {
		out = append(out, show.Plain.Paint(strings.Repeat("─", cols)))
		out = append(out, v.screen(left-1)...)
	}
	for len(out) < rows-len(foot) {
		out = append(out, "")
	}
	out = append(out[:max(0, rows-len(foot))], foot...)
	for i := range out {
		out[i] = show.Cut(out[i], cols)
	}
	return out[:min(len(out), max(0, rows))]
}

func (v *View) head(cols int, now time.Time) []string {
	a := v.Arm
	state := string(a.State)
	if a.Dialog != nil {
		state += ": " + a.Dialog.Title
	}
	line := plain(fmt.Sprintf(" %s  %s  %s: %s", a.Name, state, a.Runtime.State, a.Runtime.Reason))
	line = show.Cut(line, cols)
	out := []string{"\x1b[7m" + line + strings.Repeat(" ", max(0, cols-pty.Cells(line))) + "\x1b[m"}
	if v.Verbose {
		out = append(out, plain(fmt.Sprintf(" %s  rule %s  model %s  host %s  pid %d  last output %s ago", a.Harness, a.Rule,
			show.OrDash(a.Model), show.OrDash(a.Host), a.PID, show.Since(a.LastOutputAt, now))))
	}
	return out
}

// conversation returns the rows of the newest messages. If Full is not set, a message has at most
// shortRows rows.
func (v *View) conversation(cols int) []string {
	var out []string
	for _, m := range v.Messages[max(0, len(v.Messages)-v.History):] {
		name, colour := "you", show.Cyan
		switch m.Who {
		case Agent:
			name, colour = v.Arm.Name, show.Green
		case Decision:
			name, colour = "decision", show.Yellow
		case System:
			name, colour = "coleo", show.Red
		}
		lead := fmt.Sprintf("%s %s  ", m.Time.Local().Format("15:04"), name)
		indent := min(pty.Cells(lead), cols/2)
		rows := wrap(m.Text, cols-indent)
		if !v.Full && len(rows) > shortRows {
			more := len(rows) - shortRows + 1
			rows = append(slices.Clip(rows[:shortRows-1]), fmt.Sprintf("… %d more rows: x shows them", more))
		}
		for i, row := range rows {
			if i == 0 {
				out = append(out, colour.Paint(lead)+row)
				continue
			}
			out = append(out, strings.Repeat(" ", indent)+row)
		}
	}
	return out
}

// screen returns at most the given number of rows from the end of the arm's screen, without the
// blank rows at the end.
func (v *View) screen(rows int) []string {
	lines := v.Screen.Lines
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	out := slices.Clone(lines[max(0, len(lines)-rows):])
	for i := range out {
		out[i] = plain(out[i])
	}
	return out
}

func (v *View) foot(cols int) []string {
	if v.Writing {
		rows := wrap("message> "+v.Draft+"▏", cols)
		return append(rows, "Enter sends, Escape leaves it"+v.toggles())
	}
	var out []string
	if v.Note != "" {
		out = wrap(v.Note, cols)
	} else if v.Arm.Dialog != nil {
		out = wrap(fmt.Sprintf("It asks: 'coleo arm approve %s' or 'coleo arm deny %s' answers.", v.Arm.Name, v.Arm.Name),
			cols)
	}
	return append(out, "m message  i interrupt  x full text  s stuck  r refresh  q quit"+v.toggles())
}

// toggles returns a text that names the options that are switched on.
func (v *View) toggles() string {
	out := ""
	if v.Interrupt {
		out += "  [interrupts first]"
	}
	if v.Full {
		out += "  [full text]"
	}
	return out
}

// wrap breaks a text into rows of at most cols cells. If possible, it breaks at blanks.
func wrap(text string, cols int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		row, width := "", 0
		for _, word := range strings.SplitAfter(plain(line), " ") {
			if n := pty.Cells(strings.TrimRight(word, " ")); width > 0 && width+n > cols {
				out = append(out, strings.TrimRight(row, " "))
				row, width = "", 0
			}
			for _, r := range word {
				n := pty.Cells(string(r))
				if width > 0 && width+n > max(cols, 1) && r != ' ' {
					out = append(out, row)
					row, width = "", 0
				}
				row, width = row+string(r), width+n
			}
		}
		out = append(out, strings.TrimRight(row, " "))
	}
	return out
}

// plain removes invisible characters, because a terminal would obey some of them. It replaces each
// tab with a blank.
func plain(line string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(printable.Text(line))
}
