package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

// castScreen returns the screen at the end of an arm's recording.
func (f *fake) castScreen() (shown string, events []pty.CastEvent) {
	f.t.Helper()
	cast, err := pty.ReadCast(strings.NewReader(f.must("arm", "record", f.name)))
	f.check(err)
	screen := pty.New(cast.Cols, cast.Rows)
	for _, e := range cast.Events {
		switch e.Kind {
		case pty.CastOutput:
			_, _ = screen.Write([]byte(e.Data))
		case pty.CastResize:
			screen.Resize(e.Cols, e.Rows)
		case pty.CastInput, pty.CastMark:
		}
	}
	return strings.TrimRight(strings.Join(screen.View().Lines, "\n"), "\n") + "\n", cast.Events
}

func TestAnArmsPastCanBeSeen(t *testing.T) {
	t.Parallel()
	f := newWorld(t, "[arms]\nkeep_mib = 4").spawnFake("one")
	f.checkAnswer("the-first-word")
	early := time.Now().UTC()
	f.checkAnswer("the-second-word")
	past := f.must("arm", "screen", f.name, "--at", early.Format(time.RFC3339Nano))
	if !strings.Contains(past, "the-first-word") || strings.Contains(past, "the-second-word") {
		t.Errorf("the screen of %s is\n%s", early, past)
	}
	if now := f.must("arm", "screen", f.name, "--at", "-0s"); now != f.must("arm", "screen", f.name) {
		t.Errorf("the screen as it stands is\n%s", now)
	}
	if shown, events := f.castScreen(); shown != f.must("arm", "screen", f.name) || len(events) < 3 {
		t.Errorf("the recording has %d events and leaves\n%s", len(events), shown)
	}
	f.floods()
	want := f.must("arm", "screen", f.name)
	if e := f.fails(2, "arm", "screen", f.name, "--at", early.Format(time.RFC3339Nano)); !strings.Contains(e.Message,
		"is kept: the oldest kept screen is from 20") {
		t.Errorf("a screen that is gone: %q, want the time of the oldest", e.Message)
	}
	shown, events := f.castScreen()
	if shown != want || !strings.HasPrefix(events[0].Data, "\x1bc") {
		t.Errorf("the recording begins with %.20q and leaves\n%s\nwant\n%s", events[0].Data, shown, want)
	}
	f.kill9(f.onlyProcess("agent"))
	f.must("up")
	f.wait(f.name, coleo.Idle)
	if got := f.must("arm", "screen", f.name); got != want {
		t.Errorf("with a new host agent the screen is\n%s\nwant\n%s", got, want)
	}
	f.checkAnswer("the-last-word")
	late := time.Now().UTC()
	f.must("arm", "kill", f.name)
	if got := f.must("arm", "screen", f.name, "--at", late.Format(time.RFC3339Nano)); !strings.Contains(got,
		"the-last-word") {
		t.Errorf("before its end the screen was\n%s", got)
	}
	if _, events := f.castScreen(); !strings.Contains(events[len(events)-1].Data+events[len(events)-2].Data, "\x1b") {
		t.Error("the recording of an arm that has ended has no end")
	}
}

// TestAnArmsEarlierStartsCanBeSeen: Coleo keeps at most 4 MiB of the arm's output here. Within this
// bound, the recordings of the arm's earlier starts must be available.
func TestAnArmsEarlierStartsCanBeSeen(t *testing.T) {
	t.Parallel()
	f := newWorld(t, "[arms]\nkeep_mib = 4").spawnFake("one")
	f.checkAnswer("in-the-first-start")
	first := time.Now().UTC()
	f.restart()
	between := time.Now().UTC()
	f.checkAnswer("in-the-second-start")
	if past := f.must("arm", "screen", f.name, "--at", first.Format(time.RFC3339Nano)); !strings.Contains(past,
		"in-the-first-start") {
		t.Errorf("the screen of %s is\n%s", first, past)
	}
	if now := f.must("arm", "screen", f.name, "--at", between.Format(time.RFC3339Nano)); strings.Contains(now,
		"in-the-first-start") {
		t.Errorf("the second start began with\n%s", now)
	}
	of := func(generation string) string { return f.must("arm", "record", f.name, "--generation", generation) }
	if one, two := of("1"), of("2"); !strings.Contains(one, "in-the-first-start") ||
		strings.Contains(one, "in-the-second") || !strings.Contains(two, "in-the-second") {
		t.Error("the recordings of two starts are not told apart")
	}
	f.fails(2, "arm", "record", f.name, "--generation", "0")
	if e := f.fails(2, "arm", "record", f.name, "--generation", "3"); !strings.Contains(e.Message,
		"kept of starts 1 to 2") {
		t.Errorf("a start that was not: %q", e.Message)
	}
	f.floods()
	f.restart() // now the output of the second start no longer fits into the bound either
	f.restart()
	if e := f.fails(2, "arm", "record", f.name, "--generation", "1"); !strings.Contains(e.Message,
		"kept of starts 3 to 4") {
		t.Errorf("a start that is deleted: %q", e.Message)
	}
}

// restart ends the arm and starts it again.
func (f *fake) restart() {
	f.t.Helper()
	f.must("arm", "kill", f.name)
	f.must("arm", "spawn", "-n", f.name, "-w", f.workdir, "--harness", "fake")
}

// floods makes the arm write more output than Coleo keeps. The test fails if all of the output
// stays on the disk.
func (f *fake) floods() {
	f.t.Helper()
	f.must("arm", "prompt", f.name, "flood 20\nsay it-is-over", "--wait")
	var size int64
	f.check(filepath.WalkDir(f.path("state/arms"), func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that is deleted during the walk takes no space
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return nil
	}))
	if size > 16<<20 {
		f.t.Errorf("after a flood of 20 MiB %d bytes are on disk", size)
	}
}

func TestWrongWishesForAnArmsPastAreRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, c := range []struct {
		Exit int
		args []string
		want string
	}{
		{4, []string{"record", "nobody"}, `no arm called "nobody"`},
		{4, []string{"screen", "nobody", "--at", "5m"}, `no arm called "nobody"`},
		{2, []string{"record"}, "takes the name of an arm"},
		{2, []string{"screen", f.name, "--at", "yesterday"}, `"yesterday" is not a time`},
		{2, []string{"screen", f.name, "--at", "2000-01-02T03:04:05Z"}, "is kept: the oldest kept screen is from 20"},
		{2, []string{"screen", f.name, "--at", "2999-01-02T03:04:05Z"}, "is in the future"},
	} {
		if e := f.fails(c.Exit, append([]string{"arm"}, c.args...)...); !strings.Contains(e.Message, c.want) {
			t.Errorf("%v: %q, want %q", c.args, e.Message, c.want)
		}
	}
}
