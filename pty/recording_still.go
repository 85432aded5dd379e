package pty

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"coleo.dev"
)

// These are patterns for the lines around a rendered screen. stillHeader matches the line before
// the screen, and stillFooter matches the line after the screen. Both lines contain the cursor, the
// buffer and the title. stillModes finds the modes in the line before the screen.
var (
	stillHeader = regexp.MustCompile(`^# t=\S+ cursor=\((\d+),(\d+)\) buffer=(\w+) title='(.*?)' bells=`)
	stillFooter = regexp.MustCompile(`(?m)^--- title='(.*)' alt=(\w+) cursor=(\d+),(\d+) t=\S+\s*\z`)
	stillModes  = regexp.MustCompile(` modes=(\{.*?\})`)
)

// stillModeNames maps the mode names of @xterm/headless to the mode names of this
// package.
var stillModeNames = map[string]Mode{
	"applicationCursorKeysMode": "application_cursor",
	"applicationKeypadMode":     "application_keypad",
	"bracketedPasteMode":        ModeBracketedPaste,
	"insertMode":                "insert",
	"originMode":                "origin",
	"reverseWraparoundMode":     "reverse_wrap",
	"sendFocusMode":             "focus",
	"synchronizedOutputMode":    "synchronized",
	"wraparoundMode":            "wrap",
}

// ReadStill reads text that is already a screen, which means lines without control characters. It
// returns false for anything else, such as a recording. The first line can be a header with the cursor
// and the modes, and the last line a footer with the cursor. Without a header, Screen.Modes is nil.
// With neither line, the cursor is at -1, -1, which means unknown.
func ReadStill(p []byte) (coleo.Screen, bool) {
	first, rest, _ := bytes.Cut(p, []byte("\n"))
	header := stillHeader.FindSubmatch(first)
	if header != nil {
		p = rest
	}
	if !utf8.Valid(p) || bytes.ContainsFunc(p, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
		return coleo.Screen{}, false
	}
	if _, cast := castHeader(first); cast {
		return coleo.Screen{}, false
	}
	footer := stillFooter.FindSubmatchIndex(p)
	s := coleo.Screen{Cursor: [2]int{-1, -1}, CursorVisible: true}
	if footer != nil {
		readStillFooter(&s, p, footer)
		p = p[:footer[0]]
	}
	s.Lines = strings.Split(strings.TrimSuffix(string(p), "\n"), "\n")
	for y, line := range s.Lines {
		s.Lines[y] = strings.TrimRight(line, " ")
		s.Cols = max(s.Cols, Cells(line))
	}
	s.Rows = len(s.Lines)
	if header != nil {
		readStillHeader(&s, header, first)
	}
	return s, true
}

func readStillHeader(s *coleo.Screen, header [][]byte, line []byte) {
	x, _ := strconv.Atoi(string(header[1]))
	y, _ := strconv.Atoi(string(header[2]))
	s.Cursor, s.Alt, s.Title = [2]int{x, y}, string(header[3]) == "alternate", string(header[4])
	m := stillModes.FindSubmatch(line)
	var modes map[string]any
	if m == nil || json.Unmarshal(m[1], &modes) != nil {
		return
	}
	s.Modes = map[string]bool{}
	for name, value := range modes {
		if on, ok := value.(bool); ok && stillModeNames[name] != "" {
			s.Modes[string(stillModeNames[name])] = on
		}
	}
}

func readStillFooter(s *coleo.Screen, p []byte, at []int) {
	field := func(n int) string { return string(p[at[2*n]:at[2*n+1]]) }
	s.Title, s.Alt = field(1), field(2) == "alternate"
	s.Cursor[0], _ = strconv.Atoi(field(3))
	s.Cursor[1], _ = strconv.Atoi(field(4))
}
