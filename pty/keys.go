package pty

import (
	"strings"
	"unicode"
)

// These markers surround a bracketed paste. Paste adds them if the program has switched on mode
// 2004.
const (
	pasteStart = "\x1b[200~"
	PasteEnd   = "\x1b[201~" // also ends a paste that was typed only in part
)

// Key returns the bytes that the key with the given name sends. It returns false if there is no
// such key. The names are ENTER, SPACE, TAB, SHIFT_TAB, SHIFT_ENTER, ESCAPE, BACKSPACE, UP, DOWN,
// RIGHT, LEFT, CTRL_C, CTRL_D, CTRL_K, CTRL_L, CTRL_U, CTRL_Y, CTRL_Z.
//
// The bytes are those of xterm in normal cursor mode, except for SHIFT_ENTER, which has the CSI u
// form. Agent CLIs interpret this form as a new line that does not submit the prompt.
func Key(name string) ([]byte, bool) {
	s := keyBytes(name)
	return []byte(s), s != ""
}

func keyBytes(name string) string {
	switch name {
	case "ENTER":
		return "\r"
	case "SPACE":
		return " "
	case "SHIFT_ENTER":
		return "\x1b[13;2u"
	case "TAB":
		return "\t"
	case "SHIFT_TAB":
		return "\x1b[Z"
	case "ESCAPE":
		return "\x1b"
	case "BACKSPACE":
		return "\x7f"
	case "UP":
		return "\x1b[A"
	case "DOWN":
		return "\x1b[B"
	case "RIGHT":
		return "\x1b[C"
	case "LEFT":
		return "\x1b[D"
	case "CTRL_C":
		return "\x03"
	case "CTRL_D":
		return "\x04"
	case "CTRL_K":
		return "\x0b"
	case "CTRL_L":
		return "\x0c"
	case "CTRL_U":
		return "\x15"
	case "CTRL_Y":
		return "\x19"
	case "CTRL_Z":
		return "\x1a"
	}
	return ""
}

// Paste returns the bytes that type the text as a paste, after Plain has cleaned it. If `bracketed`
// is true, Paste puts the markers of mode 2004 around the text.
func Paste(text string, bracketed bool) []byte {
	text = Plain(text)
	if bracketed {
		text = pasteStart + text + PasteEnd
	}
	return []byte(text)
}

// Plain returns the text without anything that could end a paste early or act as a key. It removes
// the end marker of a paste, and all control characters except new line and tab. It replaces
// invalid UTF-8 with U+FFFD.
func Plain(text string) string {
	text = strings.ReplaceAll(text, PasteEnd, "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}
