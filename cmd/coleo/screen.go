package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/pty"
)

// screenFlags are the flags of screen.
type screenFlags struct {
	size     string
	at       float64 // seconds; below 0: the end
	chunk    int     // bytes; 0: as recorded
	emulator string
}

func newScreenCommand() *cobra.Command {
	f := screenFlags{at: -1}
	c := &cobra.Command{
		Use:   "screen FILE",
		Short: "Print what a recording, or raw terminal output, leaves on the screen",
		Long: `Print what a recording, or raw terminal output, leaves on the screen.

FILE is an asciicast (version 2 or 3) or raw bytes; its content tells which.`,
		Args: exactly(1, "a file"),
		RunE: func(c *cobra.Command, args []string) error {
			screen, err := render(args[0], f)
			if err != nil {
				return err
			}
			return say(c, strings.TrimRight(strings.Join(screen.Lines, "\n"), "\n"), screen)
		},
	}
	c.Flags().StringVar(&f.size, "size", "", "COLSxROWS instead of the recording's own")
	c.Flags().Float64Var(&f.at, "at", -1, "seconds into the recording (default: its end)")
	c.Flags().IntVar(&f.chunk, "chunk", 0, "split the output into writes of so many bytes")
	c.Flags().StringVar(&f.emulator, "emulator", "core", "core, or vt10x to compare with")
	return c
}

// render plays a recording up to a moment and returns the screen.
func render(path string, f screenFlags) (coleo.Screen, error) {
	if f.chunk < 0 {
		return coleo.Screen{}, coleo.Errorf(coleo.EInvalid, "--chunk %d: give a number of bytes", f.chunk)
	}
	file, err := os.Open(path)
	if err != nil {
		return coleo.Screen{}, coleo.Errorf(coleo.EInvalid, "open the recording: %w", err)
	}
	defer file.Close()
	cast, err := pty.ReadCast(file)
	if err != nil {
		return coleo.Screen{}, coleo.Errorf(coleo.EInvalid, "%s: %w", path, err)
	}
	if f.size != "" {
		if cast.Cols, cast.Rows, err = parseSize(f.size); err != nil {
			return coleo.Screen{}, err
		}
	}
	switch f.emulator {
	case "core":
		return play(pty.New(cast.Cols, cast.Rows), cast, f), nil
	case "vt10x":
		return play(pty.NewVT10x(cast.Cols, cast.Rows), cast, f), nil
	}
	return coleo.Screen{}, coleo.Errorf(coleo.EInvalid, "unknown emulator %q: there are core and vt10x", f.emulator)
}

var sizeForm = regexp.MustCompile(`^([1-9][0-9]{0,3})x([1-9][0-9]{0,3})$`)

func parseSize(s string) (cols, rows int, err error) {
	m := sizeForm.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, coleo.Errorf(coleo.EInvalid, "--size %q: write it as COLSxROWS, such as 120x40", s)
	}
	cols, _ = strconv.Atoi(m[1])
	rows, _ = strconv.Atoi(m[2])
	return cols, rows, nil
}

func play(s pty.Screen, cast *pty.Cast, f screenFlags) coleo.Screen {
	for _, e := range cast.Events {
		if f.at >= 0 && e.At > time.Duration(f.at*float64(time.Second)) {
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

// write gives output to a screen, whole or in pieces.
func write(s pty.Screen, p []byte, chunk int) {
	if chunk == 0 {
		chunk = max(len(p), 1)
	}
	for len(p) > 0 {
		n := min(chunk, len(p))
		_, _ = s.Write(p[:n])
		p = p[n:]
	}
}
