package main

import (
	"io"
	"os"

	"github.com/acarl005/stripansi"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
)

// colour is an escape sequence that sets a text colour. All sequences have the same
// length, so that the columns of a table stay aligned.
type colour string

const (
	plain  colour = "\x1b[39m"
	red    colour = "\x1b[31m"
	green  colour = "\x1b[32m"
	yellow colour = "\x1b[33m"
	cyan   colour = "\x1b[36m"
)

const noColour = "\x1b[0m"

// paint returns s in the colour. The caller writes it to painted, which removes colours
// that nobody can see.
func (c colour) paint(s string) string {
	return string(c) + s + noColour
}

// painted returns the writer for a command's coloured text.
func painted(c *cobra.Command) io.Writer {
	out := c.OutOrStdout()
	if showsColours(out, os.Getenv("NO_COLOR"), os.Getenv("TERM")) {
		return out
	}
	return stripped{out}
}

// showsColours reports whether out is a terminal that should get colours.
func showsColours(out io.Writer, noColor, termName string) bool {
	file, ok := out.(*os.File)
	return ok && noColor == "" && termName != "dumb" && term.IsTerminal(int(file.Fd()))
}

// stripped removes the colours from Coleo's own text. Every write must have whole
// sequences. It is not for the output of programs: stripansi cuts some of their sequences
// apart. Package pty's Stripper handles these.
type stripped struct{ io.Writer }

func (s stripped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.Writer, stripansi.Strip(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// stateColour returns the colour of an arm's state.
func stateColour(s coleo.State) colour {
	switch s {
	case coleo.Idle:
		return green
	case coleo.Processing, coleo.Executing:
		return cyan
	case coleo.WaitingApproval:
		return yellow
	case coleo.Failed, coleo.Dead:
		return red
	case coleo.Initializing:
	}
	return plain
}
