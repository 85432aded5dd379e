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

// stillHeader is the line before a rendered screen that says what its text
// cannot: cursor, buffer, title and modes.
var (
	stillHeader = regexp.MustCompile(`^# t=\S+ cursor=\((\d+),(\d+)\) buffer=(\w+) title='(.*?)' bells=`)
	stillModes  = regexp.MustCompile(` modes=(\{.*?\})`)
)

// stillModeNames are ours for what @xterm/headless calls its modes.
var stillModeNames = map[string]Mode{
	"applicationCursorKeysMode": ModeAppCursor,
	"applicationKeypadMode":     ModeAppKeypad,
	"bracketedPasteMode":        ModeBracketedPaste,
	"insertMode":                ModeInsert,
	"originMode":                ModeOrigin,
	"reverseWraparoundMode":     ModeReverseWrap,
	"sendFocusMode":             ModeFocus,
	"synchronizedOutputMode":    ModeSynchronized,
	"wraparoundMode":            ModeWrap,
}

// ReadStill takes text that is a screen already: lines without a control
// character, after a header line or without one. It is false for anything
// else, such as a recording. Without a header the modes are nil, which is
// unknown, and the cursor is taken to stand behind the last text.
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
	s := coleo.Screen{CursorVisible: true, Lines: strings.Split(strings.TrimSuffix(string(p), "\n"), "\n")}
	for y, line := range s.Lines {
		s.Lines[y] = strings.TrimRight(line, " ")
		s.Cols = max(s.Cols, cellsOf(line))
		if s.Lines[y] != "" {
			s.Cursor = [2]int{cellsOf(s.Lines[y]), y}
		}
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

// cellsOf returns how many cells a line of text takes on a screen.
func cellsOf(line string) int {
	c := New(utf8.RuneCountInString(line)*2+1, 1)
	_, _ = c.Write([]byte(line))
	x, _ := c.Cursor()
	return x
}
