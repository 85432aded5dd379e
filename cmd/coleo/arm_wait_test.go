package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
)

func TestNotifyRunsOncePerDialog(t *testing.T) {
	t.Parallel()
	noticeFile := t.TempDir() + "/told"
	w := newWorld(t,
		`notify = '[ "$COLEO_EVENT" != asks ] || echo "$COLEO_ARM_NAME: $COLEO_DIALOG ($COLEO_DIALOG_KIND)" >> `+
			noticeFile+"'\n")
	f := w.spawnFake("one")
	lines := func() []string {
		raw, _ := os.ReadFile(noticeFile)
		return slices.Collect(strings.Lines(string(raw)))
	}
	const line = "one: Do you want to proceed? (permission)\n"
	for n := 1; n <= 2; n++ {
		f.asks("make")
		until(t, "the command has run", func() bool { return len(lines()) >= n })
		// A refused prompt makes Coleo report the arm once more. The notification command must not run
		// again, because the dialog is the same.
		f.fails(6, "arm", "prompt", f.name, "hello")
		f.must("arm", "approve", f.name)
		f.wait(f.name, coleo.Idle)
		f.checkAnswer("between")
		if got := lines(); len(got) != n || got[n-1] != line {
			t.Errorf("after dialog %d the command has said %q", n, got)
		}
	}
}

func TestWaitReturnsAtTheFirstOfItsStatesOrInTime(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.asks("make")
	if out := f.must("arm", "wait", f.name, "--state", "idle,waiting_approval"); out != "waiting_approval\n" {
		t.Errorf("wait printed %q", out)
	}
	start := time.Now()
	e := f.fails(9, "arm", "wait", f.name, "--state", "idle,dead", "--timeout", "300ms")
	if e.Code != coleo.ETimeout || !strings.Contains(e.Message, "arm one is still waiting_approval") {
		t.Errorf("wait = %+v, want %s and the state", e, coleo.ETimeout)
	}
	if took := time.Since(start); took < 300*time.Millisecond || took > 10*time.Second {
		t.Errorf("a time-out of 300 ms took %s", took)
	}
	if e := f.fails(2, "arm", "wait", f.name, "--state", "resting"); e.Code != coleo.EInvalid {
		t.Errorf("wait for no state = %+v", e)
	}
	if e := f.fails(6, "arm", "prompt", f.name, "--wait", "x"); e.Code != coleo.EBlocked {
		t.Errorf("prompt --wait = %+v", e)
	}
	f.must("arm", "kill", f.name)
	if e := f.fails(13, "arm", "wait", f.name, "--state", "idle"); e.Code != coleo.EExited {
		t.Errorf("wait for a stopped arm = %+v", e)
	}
}

func TestPromptWaitEndsAtADialogAndInTime(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if r := f.run("arm", "prompt", f.name, "--wait", "dialog make"); r.code != 16 || r.out != "" ||
		!strings.Contains(r.err, "delivered, and now a permission dialog waits") {
		t.Errorf("%v\nwant exit 16 with the dialog", r)
	}
	f.must("arm", "approve", f.name)
	f.wait(f.name, coleo.Idle)
	if r := f.run("arm", "prompt", f.name, "--wait", "--timeout", "300ms", "pause 60s"); r.code != 9 ||
		!strings.Contains(r.err, "delivered") {
		t.Errorf("%v\nwant exit 9, and that it was delivered", r)
	}
}

// lines collects the output of a command.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// text returns the output so far.
func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) shows(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.buf.String()
	for _, word := range words {
		_, after, ok := strings.Cut(text, word)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

func TestWatchWithoutATerminalPrintsALineForEachState(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	watch := f.command("arm", "watch", f.name)
	var out lines
	watch.Stdout, watch.Stderr = &out, &out
	f.check(watch.Start())
	until(t, "the first line", func() bool { return out.shows(" one idle\n") })
	f.must("arm", "prompt", f.name, "pause 1s\ndialog make")
	until(t, "work and a question", func() bool {
		return out.shows(" one processing\n", " one waiting_approval: Do you want to proceed?\n")
	})
	f.must("arm", "deny", f.name)
	until(t, "idle again", func() bool { return out.shows("waiting_approval", " one idle\n") })
	f.must("arm", "kill", f.name)
	if err := watch.Wait(); err != nil || !out.shows(" one dead\n") {
		t.Errorf("watch ended with %v after\n%s", err, out.buf.String())
	}
}
