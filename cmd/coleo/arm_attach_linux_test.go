package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/pty"
)

// attach attaches to the arm. Ctrl-] detaches.
func (f *fake) attach() *console { return f.attachAt(100, 30) }

func (f *fake) attachAt(cols, rows int) *console {
	f.t.Helper()
	return f.onTerminal(cols, rows, "arm", "attach", f.name)
}

func TestWhoIsAttachedIsTheOnlyOneWhoTypes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	a := f.attach()
	until(t, "attach shows the composer", func() bool { return a.shows("? for help") })
	a.types("dialog by-hand\r")
	f.wait(f.name, coleo.WaitingApproval)
	before := f.received()
	for _, args := range [][]string{
		{"arm", "prompt", f.name, "hello"}, {"arm", "approve", f.name}, {"arm", "deny", f.name},
		{"arm", "answer", f.name, "1"}, {"arm", "interrupt", f.name},
	} {
		if e := f.fails(11, args...); e.Code != coleo.EBusy ||
			!strings.Contains(e.Message, "(coleo arm attach) types into arm one by hand") {
			t.Errorf("%v: %+v, want %s and who types", args, e, coleo.EBusy)
		}
	}
	second := f.run("arm", "attach", f.name)
	if second.code != 2 || !strings.Contains(second.err, "attach needs a terminal") {
		t.Errorf("%v\nwant exit 2 without a terminal", second)
	}
	other := f.attach()
	if code, text := other.ends(); code != 11 || !strings.Contains(text, "types into arm one by hand") {
		t.Errorf("a second attach exits with %d and shows %q, want 11", code, text)
	}
	if got := f.received(); got != before {
		t.Errorf("refused requests typed %q", strings.TrimPrefix(got, before))
	}
	a.types("\x1d") // the detach key Ctrl-]
	if code, text := a.ends(); code != 0 {
		t.Errorf("attach exits with %d and shows %q, want 0", code, text)
	}
	f.must("arm", "approve", f.name)
	if chosen := f.texts(fakeagent.Chosen); len(chosen) != 1 || chosen[0] != "Yes" {
		t.Errorf("chosen %q, want Yes", chosen)
	}
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("again")
}

// A viewer with a terminal of 40x8 attaches to an arm, whose terminal never gets smaller than
// 80x24. The viewer must see the part around the cursor. Meanwhile the arm's terminal must have
// 80x24, and its former size when the viewer has left.
func TestASmallViewerSeesThePartAroundTheCursor(t *testing.T) {
	t.Parallel()
	const cols, rows = 40, 8
	const armCols, armRows = 80, 24 // the smallest size of an arm's terminal
	f := newFake(t)
	before := decode[coleo.Screen](f.world, "arm", "screen", f.name)
	a := f.attachAt(cols, rows)
	sees := func(what string) {
		t.Helper()
		until(t, "the small viewer sees "+what, func() bool {
			return strings.Contains(strings.Join(a.screen(cols, rows).Lines, "\n"), what)
		})
	}
	sees("? for help")
	until(t, "the arm's terminal has its smallest size", func() bool { // attach sets the size between two redraws
		now := decode[coleo.Screen](f.world, "arm", "screen", f.name)
		return now.Cols == armCols && now.Rows == armRows
	})
	a.types("by-hand")
	sees("by-hand")
	view := a.screen(cols, rows)
	if x := strings.Index(view.Lines[view.Cursor[1]], "by-hand"); x < 0 ||
		pty.Cells(view.Lines[view.Cursor[1]][:x])+len("by-hand") != view.Cursor[0] {
		t.Errorf("the cursor is at %v, in %q", view.Cursor, view.Lines)
	}
	a.types(strings.Repeat("-wide", 9)) // writes beyond the viewer's right edge
	sees("wide-wide-wide")
	a.types("\x1d")
	<-a.read
	if view := a.screen(cols, rows); view.Alt ||
		!strings.Contains(strings.Join(view.Lines, "\n"), "detached from one") {
		t.Errorf("behind attach the terminal shows %q (alternate screen: %v)", view.Lines, view.Alt)
	}
	until(t, "the arm's terminal has its size back", func() bool { // attach sets several sizes one after another
		now := decode[coleo.Screen](f.world, "arm", "screen", f.name)
		return now.Cols == before.Cols && now.Rows == before.Rows
	})
}
