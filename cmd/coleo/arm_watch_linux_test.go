package main

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// watchIn runs `coleo arm watch` in a window of tmux.
func (f *fake) watchIn(x *tmux, args ...string) (window string) {
	f.t.Helper()
	argv := append([]string{"new-window", "-d", "-n", "watch", "-t", "=mine", "--", "/usr/bin/env"}, f.env...)
	argv = append(append(argv, f.path("bin/coleo"), "arm", "watch"), args...)
	if out, err := x.run(argv...); err != nil {
		f.t.Fatal(out, err)
	}
	return "=mine:watch"
}

// types sends keys to a window.
func (x *tmux) types(window string, keys ...string) {
	x.w.t.Helper()
	if out, err := x.run(append([]string{"send-keys", "-t", window}, keys...)...); err != nil {
		x.w.t.Fatal(out, err)
	}
}

func (x *tmux) until(window, text string) {
	x.w.t.Helper()
	last := ""
	x.w.t.Cleanup(func() {
		if x.w.t.Failed() {
			x.w.t.Logf("the window showed, when %q was wanted:\n%s", text, last)
		}
	})
	until(x.w.t, "the window shows "+text, func() bool { last = x.shows(window); return strings.Contains(last, text) })
}

func TestWatchShowsTheConversationAndTakesMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	x := newTmux(t, w)
	f := w.spawnFake("one")
	f.checkAnswer("first-answer")
	window := f.watchIn(x, "one")
	x.until(window, "first-answer")
	x.until(window, "m message")
	x.until(window, "? for help") // waits for the view

	x.types(window, "m", "say typed-there")
	x.until(window, "message> say typed-there")
	x.types(window, "Enter")
	x.until(window, "sent (")
	until(t, "the message arrives", func() bool { return slices.Contains(f.texts(fakeagent.Prompted), "say typed-there") })
	x.until(window, "  typed-there") // the line of the answer, which has the time and two spaces before it

	x.types(window, "m", "half", "Escape")
	x.until(window, "nothing was sent")
	x.types(window, "s")
	x.until(window, "coleo arm recover one")
	if arm := f.arm("one"); arm.Status != coleo.StatusIdle {
		t.Errorf("after s the arm is %s", arm.Status)
	}

	f.asks("rm -rf build")
	x.until(window, "waiting_approval: Do you want to proceed?")
	x.types(window, "m", "say at-a-dialog", "Enter")
	x.until(window, "(m opens the message again)")
	f.must("arm", "deny", "one")
	x.until(window, "denied: Do you want to proceed?")
	x.types(window, "m", "C-h", "G", "Enter")
	until(t, "the message arrives", func() bool { return slices.Contains(f.texts(fakeagent.Prompted), "say at-a-dialoG") })
	f.wait("one", coleo.Idle)

	f.must("arm", "prompt", "one", "pause 10m")
	x.until(window, "processing")
	x.types(window, "i")
	x.until(window, "[interrupts first]")
	x.types(window, "m", "say instead", "Enter")
	until(t, "the turn is interrupted", func() bool { return slices.Contains(f.texts(fakeagent.Prompted), "say instead") })
	x.until(window, "  instead")

	x.types(window, "q")
	until(t, "q ends the view", func() bool { return !slices.Contains(x.windows(), "mine watch") })
	f.checkAnswer("again")
}

func TestWatchWithoutANameOffersTheArms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	x := newTmux(t, w)
	one := w.spawnFake("one")
	two := w.command("arm", "watch") // this command has no terminal, and can watch only one arm
	out, err := two.StdoutPipe()
	w.check(err)
	w.check(two.Start())
	line := make([]byte, 64)
	n, _ := out.Read(line)
	if !strings.Contains(string(line[:n]), " one idle") {
		t.Errorf("watch of the only arm prints %q", line[:n])
	}
	_ = two.Process.Kill()
	_ = two.Wait()

	w.spawnFake("two")
	if e := w.fails(2, "arm", "watch"); !strings.Contains(e.Message, "one, two") &&
		!strings.Contains(e.Message, "two, one") {
		t.Errorf("with two arms: %+v", e)
	}
	window := one.watchIn(x)
	x.until(window, "which arm?")
	x.types(window, "two", "Enter")
	x.until(window, " two  idle")
	w.must("arm", "kill", "two")
	until(t, "the view ends with the arm", func() bool { return !slices.Contains(x.windows(), "mine watch") })
}
