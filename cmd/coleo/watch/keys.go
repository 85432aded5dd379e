package watch

import (
	"fmt"
	"unicode/utf8"
)

// These keys are control characters.
const (
	enter     = '\r'
	newline   = '\n'
	escape    = '\x1b'
	backspace = '\x7f'
	ctrlC     = '\x03'
	ctrlH     = '\x08'
	ctrlU     = '\x15'
)

// These keys are no characters. They are before and after a pasted text.
const (
	pasteBegin rune = -1 - iota
	pasteEnd
)

// longestSequence is the largest number of bytes after which an escape sequence may still continue.
const longestSequence = 64

// pasteMarks contains the sequences that a terminal with bracketed paste sends around a pasted text.
var pasteMarks = map[string]rune{"\x1b[200~": pasteBegin, "\x1b[201~": pasteEnd}

// Action describes what the caller of Press or Type must do.
type Action struct {
	Send    string // the message to send; "" means none
	Refresh bool   // whether to read the arm, its screen and its conversation again
	Quit    bool
}

// Type handles keys that arrived together. If the caller must do something after a key, Type
// returns and drops the remaining keys. While the user writes a message, an Enter that is not the
// last key comes from pasted text. So Type treats it as a new line. Some terminals mark pasted text. Type adds all of
// it to the message, however many pieces it arrives in.
func (v *View) Type(keys []rune) Action {
	for i, key := range keys {
		if key == pasteBegin || key == pasteEnd || v.pasting {
			v.paste(key)
			continue
		}
		if v.Writing && key == enter && i < len(keys)-1 {
			key = newline
		}
		if a := v.Press(key); a != (Action{}) {
			return a
		}
	}
	return Action{}
}

// paste handles one key of a pasted text, or one of the marks around it. Outside of a message, it does nothing.
func (v *View) paste(key rune) {
	switch {
	case key == pasteBegin, key == pasteEnd, key == escape: // with Escape, a user ends a paste whose end was lost
		v.pasting = key == pasteBegin
	case !v.Writing:
	case key == enter:
		v.Draft += "\n"
	case key >= ' ' && key != backspace || key == newline || key == '\t':
		v.write(key)
	}
}

// Press handles one key. It changes the view, and returns what the caller must do.
func (v *View) Press(key rune) Action {
	if v.Writing {
		return v.write(key)
	}
	v.Note = ""
	switch key {
	case 'm':
		v.Writing = true
	case 'i':
		v.Interrupt = !v.Interrupt
	case 'x':
		v.Full = !v.Full
	case 's':
		v.Note = fmt.Sprintf("Nothing was marked: evidence alone changes what Coleo says of an arm. "+
			"'coleo arm explain %s' shows the evidence. 'coleo arm recover %s' proves that the arm lives, or starts it again.",
			v.Arm.Name, v.Arm.Name)
	case 'r':
		return Action{Refresh: true}
	case 'q', ctrlC:
		return Action{Quit: true}
	}
	return Action{}
}

// write handles one key while the user writes a message.
func (v *View) write(key rune) Action {
	switch key {
	case ctrlC:
		return Action{Quit: true}
	case escape:
		v.Writing, v.Draft, v.Note = false, "", "nothing was sent"
	case enter:
		text := v.Draft
		v.Writing, v.Draft, v.Note = false, "", ""
		return Action{Send: text}
	case backspace, ctrlH:
		_, n := utf8.DecodeLastRuneInString(v.Draft)
		v.Draft = v.Draft[:len(v.Draft)-n]
	case ctrlU:
		v.Draft = ""
	case newline:
		v.Draft += "\n"
	default:
		v.Draft += plain(string(key))
	}
	return Action{}
}

// Keys decodes bytes from a terminal into keys. It drops escape sequences, such as arrow keys, except the marks of a
// pasted text. If the bytes end within a key or a sequence, rest contains its beginning.
func Keys(in []byte) (keys []rune, rest []byte) {
	for len(in) > 0 {
		n := sequenceLength(in)
		if n > len(in) {
			return keys, in
		}
		if n > 0 {
			if mark, ok := pasteMarks[string(in[:n])]; ok {
				keys = append(keys, mark)
			}
			in = in[n:]
			continue
		}
		if !utf8.FullRune(in) {
			return keys, in
		}
		r, n := utf8.DecodeRune(in)
		keys, in = append(keys, r), in[n:]
	}
	return keys, nil
}

// sequenceLength returns the length of the escape sequence at the beginning of the given bytes, or
// 0 if there is none. The length is larger than the number of bytes if the sequence has not ended. An escape
// character alone is the key Escape.
func sequenceLength(in []byte) int {
	if len(in) < 2 || in[0] != escape || in[1] != '[' && in[1] != 'O' {
		return 0
	}
	for i := 2; i < len(in); i++ {
		if in[i] >= '@' && in[i] <= '~' {
			return i + 1
		}
	}
	if len(in) > longestSequence {
		return len(in)
	}
	return len(in) + 1
}
