// Package show contains output that several verbs share, such as coloured text, tables, and the evidence for an
// arm's state.
package show

import (
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/acarl005/stripansi"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/printable"
)

// Colour is an escape sequence that sets the colour of text. All Colour sequences have the same
// length, so that the columns of a table stay aligned.
type Colour string

// These are the colours of Coleo's own text. Plain is the terminal's default colour.
const (
	Plain  Colour = "\x1b[39m"
	Red    Colour = "\x1b[31m"
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Cyan   Colour = "\x1b[36m"
)

const noColour = "\x1b[0m"

// Paint returns s in the colour c. The caller must print the result with Writer or TextFor, which
// remove the colours if the output cannot show them.
func (c Colour) Paint(s string) string {
	return string(c) + s + noColour
}

// Writer returns a writer for coloured text on a verb's output. If the output does not
// show colours, the writer removes them. The writer always removes invisible characters.
func Writer(c *cobra.Command) io.Writer {
	out := c.OutOrStdout()
	if showsColours(out, os.Getenv("NO_COLOR"), os.Getenv("TERM")) {
		return cleaned{out, Clean}
	}
	return cleaned{out, func(text string) string { return printable.Text(stripansi.Strip(text)) }}
}

// ownColour matches the escape sequences that Paint writes.
var ownColour = regexp.MustCompile("\x1b\\[(?:39|31|32|33|36|0)m")

// Clean removes invisible characters from a text, but keeps Coleo's own colours. The names and texts of arms in it
// can then change nothing but a colour on the terminal.
func Clean(text string) string {
	var out strings.Builder
	at := 0
	for _, found := range ownColour.FindAllStringIndex(text, -1) {
		out.WriteString(printable.Text(text[at:found[0]]) + text[found[0]:found[1]])
		at = found[1]
	}
	return out.String() + printable.Text(text[at:])
}

// TextFor returns the text that the caller must write to the writer `out`. If `out` does not show colours,
// TextFor removes them from the text.
func TextFor(out io.Writer, text string) string {
	if showsColours(out, os.Getenv("NO_COLOR"), os.Getenv("TERM")) {
		return text
	}
	return stripansi.Strip(text)
}

// Width returns the width of the terminal to which a verb prints, in cells. It returns 0
// if the verb does not print to a terminal.
func Width(c *cobra.Command) int {
	file, ok := c.OutOrStdout().(*os.File)
	if !ok {
		return 0
	}
	cols, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return cols
}

// showsColours reports whether Coleo should write colours to the writer `out`. noColor and termName are the
// values of NO_COLOR and TERM.
func showsColours(out io.Writer, noColor, termName string) bool {
	file, ok := out.(*os.File)
	return ok && noColor == "" && termName != "dumb" && term.IsTerminal(int(file.Fd()))
}

// cleaned is a writer that removes from each text what its output cannot show or must not obey. Each write must
// contain only whole characters and whole escape sequences.
//
// It is not for the output of other programs. Use the Stripper of package pty for that output.
type cleaned struct {
	io.Writer
	clean func(string) string
}

func (s cleaned) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.Writer, s.clean(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// StateColour returns the colour in which an arm's state is shown.
func StateColour(s coleo.State) Colour {
	switch s {
	case coleo.Idle:
		return Green
	case coleo.Processing, coleo.Executing:
		return Cyan
	case coleo.WaitingApproval:
		return Yellow
	case coleo.Failed, coleo.Dead:
		return Red
	case coleo.Initializing:
	}
	return Plain
}
