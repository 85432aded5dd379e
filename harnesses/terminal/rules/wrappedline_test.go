package rules

import (
	"strings"
	"testing"

	"coleo.dev/pty"
)

// TestAWrappedLineIsWhatTheTerminalHasWrapped checks the line that is joined from wrapped rows. A full row
// that ends with a line break must not be joined with the row below, although both cases look the same.
func TestAWrappedLineIsWhatTheTerminalHasWrapped(t *testing.T) {
	t.Parallel()
	full := "$ " + strings.Repeat("x", 18) // 20 columns
	for written, want := range map[string]string{
		"$ short":                      "$ short",
		full + "yz":                    full + "yz",
		full + full + "yz":             full + full + "yz",
		full + "\r\nyz":                "yz",
		full + "\r\n":                  "",
		full + "yz\r\nand":             "and",
		"a\r\n" + full + "yz\x1b[2;3H": full,
	} {
		screen := pty.New(20, 6)
		_, _ = screen.Write([]byte(written))
		if got := NewPicture(screen.View(), &Composer{Bottom: cursorEdge}).wrappedLine(); got != want {
			t.Errorf("%q: the wrapped line is %q, want %q", written, got, want)
		}
	}
}
