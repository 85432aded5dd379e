package main

import (
	"io"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/pty"
	"coleo.dev/pty/device"
)

// attached is a running `coleo arm attach` and the keys of its user.
type attached struct {
	*device.Terminal
	t    *testing.T
	read chan struct{} // closed when attach has written all its output

	mu    sync.Mutex
	shown strings.Builder
}

func (f *fake) attach() *attached { return f.attachAt(100, 30) }

func (f *fake) attachAt(cols, rows int) *attached {
	f.t.Helper()
	term, err := device.Start(device.Command{Path: f.path("bin/coleo"), Args: []string{"arm", "attach", f.name},
		Env: f.env, Dir: f.dir, Cols: cols, Rows: rows})
	f.check(err)
	a := &attached{Terminal: term, t: f.t, read: make(chan struct{})}
	go func() {
		defer close(a.read)
		_, _ = io.Copy(a, term)
	}()
	f.t.Cleanup(func() { _ = term.Close(); <-a.read; _, _ = term.Wait() })
	return a
}

// Write receives what attach shows.
func (a *attached) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shown.Write(p)
}

func (a *attached) shows(text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Contains(a.shown.String(), text)
}

func (a *attached) types(text string) {
	a.t.Helper()
	if _, err := a.Terminal.Write([]byte(text)); err != nil {
		a.t.Fatal(err)
	}
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
	<-other.read
	if state, _ := other.Wait(); state.ExitCode() != 11 || !other.shows("types into arm one by hand") {
		t.Errorf("a second attach exits with %d and shows %q, want 11", state.ExitCode(), other.shown.String())
	}
	if got := f.received(); got != before {
		t.Errorf("refused requests typed %q", strings.TrimPrefix(got, before))
	}
	a.types("\x1d") // the detach key Ctrl-]
	<-a.read
	if state, _ := a.Wait(); state.ExitCode() != 0 {
		t.Errorf("attach exits with %d, want 0", state.ExitCode())
	}
	f.must("arm", "approve", f.name)
	if chosen := f.texts(fakeagent.Chosen); len(chosen) != 1 || chosen[0] != "Yes" {
		t.Errorf("chosen %q, want Yes", chosen)
	}
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("again")
}

// screen returns what a terminal of the given size shows after attach's output.
func (a *attached) screen(cols, rows int) coleo.Screen {
	a.mu.Lock()
	defer a.mu.Unlock()
	screen := pty.New(cols, rows)
	_, _ = screen.Write([]byte(a.shown.String()))
	return screen.View()
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
