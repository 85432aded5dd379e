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

// The terminal has become narrower, and OpenCode has written each row anew without a line break. The edge of its
// composer is a whole row again, although the terminal still counts the row as wrapped.
func TestAnEdgeThatWasWrittenAnewIsWhole(t *testing.T) {
	t.Parallel()
	spec := builtinSpec(t, "opencode")
	core := pty.New(100, 10)
	core.Feed([]byte("\x1b[2;1H  ┃\x1b[3;1H  ┃  Build\x1b[4;1H  ╹" + strings.Repeat("▀", 97) + "\r\n"))
	core.Resize(80, 10)
	if NewPicture(core.View(), &spec.Composer).Composer != nil {
		t.Error("the composer of a picture for a wider terminal is found")
	}
	core.Feed([]byte("\x1b[3;1H\x1b[K  ┃\x1b[4;1H  ┃  Build" + strings.Repeat(" ", 71) +
		"\x1b[5;1H  ╹" + strings.Repeat("▀", 77)))
	view := core.View()
	const edge = 4 // the index of the row with the edge
	if !view.Wrapped[edge] {
		t.Fatalf("the row %q does not count as wrapped, so this test shows nothing", view.Lines[edge])
	}
	view.Cursor, view.CursorVisible = [2]int{5, 2}, true
	if NewPicture(view, &spec.Composer).Composer == nil {
		t.Errorf("the composer is not found in\n%s", strings.Join(view.Lines, "\n"))
	}
}
