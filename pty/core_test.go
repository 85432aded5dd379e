package pty

import (
	"strings"
	"testing"
)

// draw returns a screen of the given size to which s was written.
func draw(cols, rows int, s string) *Core {
	c := New(cols, rows)
	_, _ = c.Write([]byte(s))
	return c
}

// text returns the screen's rows without blank ones at the end.
func text(s Screen) string {
	return strings.TrimRight(strings.Join(s.View().Lines, "\n"), "\n")
}

func TestHello(t *testing.T) {
	t.Parallel()
	c := draw(10, 3, "hello wörld ✳🟢x\r\n\x1b[1;31mred\x1b[m")
	if got := text(c); got != "hello wörl\nd ✳🟢x\nred" {
		t.Errorf("got %q", got)
	}
}
