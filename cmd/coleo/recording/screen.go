// Package recording contains the verb "screen". The verb replays a recording, and prints the screen
// at its end or at a given time.
package recording

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/pty"
	"coleo.dev/pty/vt10x"
)

// screenFlags contains the flags of screen.
type screenFlags struct {
	size     string
	at       float64 // the time in the recording, in seconds
	atEnd    bool
	chunk    int // the number of bytes to write at once; 0 means the pieces as they were recorded
	emulator string
}

// Command returns the verb "screen".
func Command() *cobra.Command {
	var f screenFlags
	c := &cobra.Command{
		Use:   "screen FILE",
		Short: "Print the screen that a recording ends with",
		Long: `Print the screen that a recording ends with.

FILE is an asciicast (version 2 or 3), or the bytes that a program wrote to its
terminal. Coleo recognizes the format by the content. The default size for such
bytes is 120x40.`,
		Args: verb.Exactly(1, "a file"),
		RunE: func(c *cobra.Command, args []string) error {
			f.atEnd = !c.Flags().Changed("at")
			screen, err := render(args[0], f)
			if err != nil {
				return err
			}
			return verb.Say(c, strings.TrimRight(strings.Join(screen.Lines, "\n"), "\n"), screen)
		},
	}
	c.Flags().StringVar(&f.size, "size", "",
		"`COLSxROWS` of the screen (default: as recorded)")
	c.Flags().Float64Var(&f.at, "at", 0, "`SECONDS` into the recording (default: its end)")
	c.Flags().IntVar(&f.chunk, "chunk", 0, "write the output in pieces of so many `BYTES`")
	c.Flags().StringVar(&f.emulator, "emulator", "core", "core, or vt10x for comparison")
	return c
}

// render replays a recording up to the time f.at, or up to the end, and returns the
// screen.
func render(path string, f screenFlags) (coleo.Screen, error) {
	open, known := map[string]func(cols, rows int) pty.Screen{
		"core":  func(cols, rows int) pty.Screen { return pty.New(cols, rows) },
		"vt10x": func(cols, rows int) pty.Screen { return vt10x.New(cols, rows) },
	}[f.emulator]
	switch {
	case !known:
		return coleo.Screen{}, coleo.Errorf(coleo.EInvalid, "--emulator %q: use core or vt10x", f.emulator)
	case f.chunk < 0:
		return coleo.Screen{}, coleo.Errorf(coleo.EInvalid, "--chunk %d: give a number of bytes, such as 7", f.chunk)
	case !(f.at >= 0):
		return coleo.Screen{}, coleo.Errorf(coleo.EInvalid, "--at %v: give seconds since the start, such as 2.5", f.at)
	}
	cols, rows := 0, 0
	if f.size != "" {
		var err error
		if cols, rows, err = parseSize(f.size); err != nil {
			return coleo.Screen{}, err
		}
	}
	cast, err := readRecording(path)
	if err != nil {
		return coleo.Screen{}, err
	}
	if f.size == "" {
		cols, rows = cast.Cols, cast.Rows
	}
	return play(open(cols, rows), cast, f), nil
}

// readRecording reads the recording at path.
func readRecording(path string) (*pty.Cast, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, coleo.Errorf(coleo.EInvalid, "%s: %w: give an asciicast or raw terminal output", path,
			rootCause(err))
	case info.IsDir():
		return nil, coleo.Errorf(coleo.EInvalid, "%s is a directory: give an asciicast or raw terminal output", path)
	case info.Mode().IsRegular() && info.Size() == 0:
		return nil, coleo.Errorf(coleo.EInvalid, "%s is empty: give an asciicast or raw terminal output", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s: %w: make it readable", path, rootCause(err))
	}
	defer file.Close()
	in, err := Unpack(file)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s: %w: unpack it", path, err)
	}
	cast, err := pty.ReadCast(in)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s: %w: repair that line, or cut the file before it", path, err)
	}
	return cast, nil
}

// rootCause returns err without the path of the file, because the caller's message already contains
// this path.
func rootCause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

const (
	mostCells = 1000 // the largest number of columns or rows, as in package pty
	sizeHelp  = "--size %q: write it as COLSxROWS, such as 120x40, at most 1000x1000"
)

var sizeForm = regexp.MustCompile(`^([1-9][0-9]{0,3})x([1-9][0-9]{0,3})$`)

func parseSize(s string) (cols, rows int, err error) {
	m := sizeForm.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, coleo.Errorf(coleo.EInvalid, sizeHelp, s)
	}
	cols, _ = strconv.Atoi(m[1])
	rows, _ = strconv.Atoi(m[2])
	if cols > mostCells || rows > mostCells {
		return 0, 0, coleo.Errorf(coleo.EInvalid, sizeHelp, s)
	}
	return cols, rows, nil
}

func play(s pty.Screen, cast *pty.Cast, f screenFlags) coleo.Screen {
	for _, e := range cast.Events {
		if !f.atEnd && e.At.Seconds() > f.at && e.At > pty.CastTime(f.at) {
			break
		}
		switch {
		case e.Kind == pty.CastResize && f.size == "":
			s.Resize(e.Cols, e.Rows)
		case e.Kind == pty.CastOutput:
			write(s, []byte(e.Data), f.chunk)
		}
	}
	return s.View()
}

// write writes p to a screen, in pieces of at most maxBytes bytes. If maxBytes is 0, it writes p in
// one piece.
func write(s pty.Screen, p []byte, maxBytes int) {
	if maxBytes == 0 {
		maxBytes = max(len(p), 1)
	}
	for len(p) > 0 {
		n := min(maxBytes, len(p))
		_, _ = s.Write(p[:n])
		p = p[n:]
	}
}
