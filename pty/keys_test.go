package pty

import "testing"

func TestKeysSendTheSpecsBytes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ENTER": "\r", "SPACE": " ", "TAB": "\t", "ESCAPE": "\x1b", "CTRL_C": "\x03", "CTRL_D": "\x04",
		"CTRL_K": "\v", "CTRL_L": "\f", "CTRL_U": "\x15", "CTRL_Y": "\x19", "CTRL_Z": "\x1a", "UP": "\x1b[A",
		"DOWN":  "\x1b[B",
		"RIGHT": "\x1b[C", "LEFT": "\x1b[D", "BACKSPACE": "\x7f", "SHIFT_ENTER": "\x1b[13;2u", "SHIFT_TAB": "\x1b[Z",
	} {
		got, ok := Key(name)
		if !ok || string(got) != want {
			t.Errorf("Key(%s) = %q, %v, want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "enter", "F13"} {
		if got, ok := Key(name); ok || len(got) != 0 {
			t.Errorf("Key(%q) = %q, %v, want nothing", name, got, ok)
		}
	}
}

func TestPaste(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in  string
		bracketed bool
		want      string
	}{
		{"plain text stays", "a b\n\tc ✳", false, "a b\n\tc ✳"},
		{"markers if bracketed", "hi", true, "\x1b[200~hi\x1b[201~"},
		{"the end marker goes", "a\x1b[201~\rrm -rf", true, "\x1b[200~arm -rf\x1b[201~"},
		{"an end marker made by taking one out has no escape", "\x1b[20\x1b[201~1~", true, "\x1b[200~[201~\x1b[201~"},
		{"keys go", "a\x03b\x04c\x1bd\x7fe\rf", false, "abcdef"},
		{"the 8-bit introducer goes", "a\u009b201~b", true, "\x1b[200~a201~b\x1b[201~"},
		{"CRLF becomes LF", "a\r\nb", false, "a\nb"},
	}
	for _, tt := range tests {
		if got := string(Paste(tt.in, tt.bracketed)); got != tt.want {
			t.Errorf("%s: Paste(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}
