package rules

import (
	"strings"
	"testing"

	"coleo.dev/pty"
)

// A terminal becomes narrower, and the edges of the composer wrap. Until the agent CLI has drawn again, no rule may
// find the composer.
func TestAComposerForAWiderTerminalIsNone(t *testing.T) {
	t.Parallel()
	c := builtinSpec(t, "gemini").Composer
	edge := func(r string) string { return strings.Repeat(r, 100) + "\r\n" }
	for _, cols := range []int{120, 100, 99, 70, 60} {
		core := pty.New(100, 10)
		core.Feed([]byte(edge("▄") + " >   Type your message or @path/to/file\r\n" + edge("▀") + " workspace (/directory)"))
		core.Resize(cols, 10)
		if found := NewPicture(core.View(), &c).Composer != nil; found != (cols >= 100) {
			t.Errorf("a terminal with 100 columns now has %d: the composer is found: %t", cols, found)
		}
	}
}
