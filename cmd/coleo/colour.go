package main

import (
	"io"
	"os"

	"github.com/acarl005/stripansi"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
)

// A colour is what it takes to write in it; all of them are equally long, so
// that the columns of a table stay in line.
type colour string

const (
	plain  colour = "\x1b[39m"
	red    colour = "\x1b[31m"
	green  colour = "\x1b[32m"
	yellow colour = "\x1b[33m"
	cyan   colour = "\x1b[36m"
)

const noColour = "\x1b[0m"

// paint is s in that colour. It goes to the writer of painted, which takes
// colours off again where nobody sees them.
func (c colour) paint(s string) string {
	return string(c) + s + noColour
}

// painted is where a command writes coloured text for people.
func painted(c *cobra.Command) io.Writer {
	out := c.OutOrStdout()
	if showsColours(out, os.Getenv("NO_COLOR"), os.Getenv("TERM")) {
		return out
	}
	return stripped{out}
}

// showsColours tells whether out is a terminal on which colours are wanted.
func showsColours(out io.Writer, noColor, termName string) bool {
	file, ok := out.(*os.File)
	return ok && noColor == "" && termName != "dumb" && term.IsTerminal(int(file.Fd()))
}

// stripped passes on what coleo itself writes without its colours. Every write
// holds whole sequences. It is not for the output of programs: that has
// sequences which stripansi cuts apart, and package pty's Stripper does not.
type stripped struct{ io.Writer }

func (s stripped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.Writer, stripansi.Strip(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// stateColour is what an arm's state is written in.
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
