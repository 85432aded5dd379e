package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

func TestTheListIsInTheOrderOfNeed(t *testing.T) {
	t.Parallel()
	arms := []coleo.Arm{
		{Name: "arm-10", State: coleo.Idle, Status: coleo.StatusIdle, Harness: "a"},
		{Name: "arm-2", State: coleo.Idle, Status: coleo.StatusIdle, Harness: "b", TotalCost: 2},
		{Name: "gone", State: coleo.Dead, Status: coleo.StatusStopped, Harness: "a"},
		{Name: "busy", State: coleo.Processing, Status: coleo.StatusBusy, Harness: "c", TotalCost: 1},
		{Name: "asks", State: coleo.WaitingApproval, Status: coleo.StatusBusy, Harness: "a",
			Dialog: &coleo.Dialog{Title: "May I?"}},
	}
	for flags, want := range map[string]string{
		"":                           "asks busy arm-2 arm-10",
		"all":                        "asks busy arm-2 arm-10 gone",
		"sort=name":                  "arm-2 arm-10 asks busy",
		"sort=cost":                  "arm-2 busy arm-10 asks",
		"sort=harness":               "arm-10 asks arm-2 busy",
		"state=needs-you,processing": "asks busy",
		"state=ended":                "gone",
		"state=idle harness=b":       "arm-2",
	} {
		f := listFlags{sort: "need"}
		for _, word := range strings.Fields(flags) {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "all":
				f.all = true
			case "sort":
				f.sort = value
			case "state":
				f.states = strings.Split(value, ",")
			case "harness":
				f.harnesses = strings.Split(value, ",")
			}
		}
		pick, err := f.picker()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, arm := range pick(arms) {
			got = append(got, arm.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", flags, got, want)
		}
	}
	for _, f := range []listFlags{{sort: "size"}, {sort: "need", states: []string{"sleepy"}}} {
		if _, err := f.picker(); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%+v: %v, want invalid", f, err)
		}
	}
}

func TestAPlaceIsNamedByItsRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", w.path("project"), "-c", "user.name=a", "-c", "user.email=a@b"},
			args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	w.check(os.MkdirAll(w.path("project/sub/deep"), 0o700))
	w.check(os.MkdirAll(w.path("plain"), 0o700))
	git("init", "-q", "-b", "fix/it")
	git("commit", "-q", "--allow-empty", "-m", "x")
	git("worktree", "add", "-q", "-b", "other", w.path("tree"))
	for dir, want := range map[string]place{
		"project":          {"project", "fix/it"},
		"project/sub/deep": {"project/sub/deep", "fix/it"},
		"tree":             {"tree", "other"},
		"plain":            {w.path("plain"), ""},
	} {
		if got := placeOf(w.path(dir)); got != want {
			t.Errorf("%s is %+v, want %+v", dir, got, want)
		}
	}
	git("checkout", "-q", "--detach")
	if got := placeOf(w.path("project")).branch; len(got) != 8 {
		t.Errorf("a detached head is %q, want the beginning of the commit", got)
	}
	w.write("project/.git/HEAD", "ref: refs/heads/\x1b]0;evil\x07\n")
	if got := placeOf(w.path("project")).branch; strings.ContainsAny(got, "\x1b\x07") {
		t.Errorf("a branch with control characters is %q", got)
	}
}

// On a terminal, the list follows changes. At the end it restores the terminal.
func TestTheListFollowsOnATerminal(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if e := f.fails(2, "arm", "list", "--watch"); e.Code != coleo.EInvalid {
		t.Errorf("--watch without a terminal: %+v", e)
	}
	term, err := pty.Start(pty.Command{Path: f.path("bin/coleo"), Args: []string{"arm", "list", "--watch"},
		Env: append(f.env, "TERM=xterm-256color"), Dir: f.dir, Cols: 60, Rows: 10})
	f.check(err)
	screen := pty.New(60, 10)
	read := make(chan struct{})
	lines := make(chan []string, 1)
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := term.Read(buf)
			_, _ = screen.Write(buf[:n])
			select {
			case <-lines:
			default:
			}
			lines <- screen.View().Lines
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = term.Close(); <-read; _, _ = term.Wait() })
	shows := func(words ...string) {
		t.Helper()
		var last []string
		until(t, "the list shows "+strings.Join(words, ", "), func() bool {
			select {
			case last = <-lines:
			case <-time.After(10 * time.Millisecond):
			}
			text := strings.Join(last, "\n")
			for _, word := range words {
				if !strings.Contains(text, word) {
					return false
				}
			}
			return true
		})
	}
	shows("NAME", "one", "idle")
	f.asks("make test")
	shows("needs you:")
	f.must("arm", "deny", f.name)
	shows("one", "idle")
	_, err = term.Write([]byte("\x03"))
	f.check(err)
	<-read
	if state, err := term.Wait(); err != nil || state.ExitCode() != 0 {
		t.Errorf("Ctrl-C ends the list with %v, %v", state, err)
	}
}
