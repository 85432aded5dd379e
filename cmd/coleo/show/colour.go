// Package show has output that several verbs print: coloured text, and the evidence
// behind a reading.
package show

import (
	"io"
	"os"

	"github.com/acarl005/stripansi"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
)

// Colour is an escape sequence that sets a text colour. All sequences have the same
// length, so that the columns of a table stay aligned.
type Colour string

// The colours of Coleo's own text. Plain is the terminal's usual colour.
const (
	Plain  Colour = "\x1b[39m"
	Red    Colour = "\x1b[31m"
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Cyan   Colour = "\x1b[36m"
)

const noColour = "\x1b[0m"

// Paint returns s in the colour c. The caller must write the result to Writer or pass
// it to TextFor. They remove the colours if the output does not show colours.
func (c Colour) Paint(s string) string {
	return string(c) + s + noColour
}

// Writer returns the writer for a command's coloured text.
func Writer(c *cobra.Command) io.Writer {
	out := c.OutOrStdout()
	if showsColours(out, os.Getenv("NO_COLOR"), os.Getenv("TERM")) {
		return out
	}
	return stripped{out}
}

// TextFor returns text for the output out. If out does not show colours, TextFor
// removes the colours.
func TextFor(out io.Writer, text string) string {
	if showsColours(out, os.Getenv("NO_COLOR"), os.Getenv("TERM")) {
		return text
	}
	return stripansi.Strip(text)
}

// showsColours reports whether out is a terminal to which colours should be written.
func showsColours(out io.Writer, noColor, termName string) bool {
	file, ok := out.(*os.File)
	return ok && noColor == "" && termName != "dumb" && term.IsTerminal(int(file.Fd()))
}

// stripped removes the colours from Coleo's own text. Every write to it must contain
// only whole escape sequences. Do not use stripped for the output of programs, because
// stripansi removes only a part of some sequences of programs. Use the Stripper of
// package pty instead.
type stripped struct{ io.Writer }

func (s stripped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.Writer, stripansi.Strip(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// StateColour returns the colour of an arm's state.
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
