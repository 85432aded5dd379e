package pty

import (
	"strings"
	"testing"
)

func TestStillsAreReadWithAndWithoutTheirHeader(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in     string
		title  string
		cursor [2]int
		paste  any // whether ModeBracketedPaste is on; nil if unknown
		lines  string
	}{
		"header": {"# t=1.5s cursor=(2,1) buffer=alternate title='it's a title' bells=0 scrollback=0 " +
			"modes={\"bracketedPasteMode\": true, \"mouseTrackingMode\": \"any\"}\none  \n❯ \n",
			"it's a title", [2]int{2, 1}, true, "one|❯"},
		"footer": {"one\n❯ \n--- title='OpenCode' alt=alternate cursor=2,1 t=44.42\n", "OpenCode", [2]int{2, 1}, nil,
			"one|❯"},
		"neither": {"one\n漢 two\n\n", "", [2]int{-1, -1}, nil, "one|漢 two|"},
	} {
		s, ok := ReadStill([]byte(tt.in))
		var paste any
		if on, known := s.Modes[string(ModeBracketedPaste)]; known {
			paste = on
		}
		if !ok || s.Title != tt.title || s.Cursor != tt.cursor || paste != tt.paste ||
			strings.Join(s.Lines, "|") != tt.lines {
			t.Errorf("%s: %v %+v, want %+v", name, ok, s, tt)
		}
	}
	if s, _ := ReadStill([]byte("one\n漢 two\n")); s.Cols != 6 || s.Rows != 2 {
		t.Errorf("size = %dx%d, want 6x2", s.Cols, s.Rows)
	}
}

func TestRecordingsAreNoStills(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"{\"version\": 2, \"width\": 80, \"height\": 24}\n[0.1, \"o\", \"hi\"]\n", "raw\r\n",
		"\x1b[2Jx", "\xff\xfe"} {
		if s, ok := ReadStill([]byte(in)); ok {
			t.Errorf("%q is read as a screen: %+v", in, s)
		}
	}
}
