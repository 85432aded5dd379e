package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
	"coleo.dev/pty/device"
)

// On a terminal, the list must follow changes. When it ends, it must restore the terminal.
func TestTheListFollowsOnATerminal(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if e := f.fails(2, "arm", "list", "--watch"); e.Code != coleo.EInvalid {
		t.Errorf("--watch without a terminal: %+v", e)
	}
	term, err := device.Start(device.Command{Path: f.path("bin/coleo"), Args: []string{"arm", "list", "--watch"},
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
	var last []string // the lines that the list showed last
	shows := func(words ...string) {
		t.Helper()
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
	f.cutsItsRows()
	shows("NAME", "one", "idle")
	f.asks("make test")
	shows("needs you:")
	f.must("arm", "deny", f.name)
	shows("one", "idle")
	f.spawnFake("two")
	shows("one", "two")
	f.check(term.Signal(syscall.SIGSTOP)) // as by Ctrl-Z; the list then misses what happens
	f.must("down")
	f.must("up")
	f.must("arm", "kill", "two")
	f.must("arm", "remove", "two")
	f.check(term.Signal(syscall.SIGCONT))
	f.asks("make all")
	shows("needs you:")
	until(t, "the list no longer shows the removed arm", func() bool {
		shows("needs you:") // this reads the newest lines
		return !strings.Contains(strings.Join(last, "\n"), "two")
	})
	_, err = term.Write([]byte("\x03"))
	f.check(err)
	<-read
	if state, err := term.Wait(); err != nil || state.ExitCode() != 0 {
		t.Errorf("Ctrl-C ends the list with %v, %v", state, err)
	}
}

// cutsItsRows checks that each arm takes one row on a narrow terminal, and that a pipe receives the whole
// rows.
func (f *fake) cutsItsRows() {
	f.t.Helper()
	const cols = 20
	if out := f.must("arm", "list"); !strings.Contains(out, "BRANCH") {
		f.t.Errorf("into a pipe, the list is %s", out)
	}
	term, err := device.Start(device.Command{Path: f.path("bin/coleo"), Args: []string{"arm", "list"},
		Env: append(f.env, "TERM=xterm-256color"), Dir: f.dir, Cols: cols, Rows: 10})
	f.check(err)
	defer term.Close()
	screen := pty.New(cols, 10)
	buf := make([]byte, 4096)
	for err == nil {
		var n int
		n, err = term.Read(buf)
		_, _ = screen.Write(buf[:n])
	}
	lines := screen.View().Lines
	if !strings.HasPrefix(lines[0], "NAME") || !strings.HasPrefix(lines[1], "one") || strings.TrimSpace(lines[2]) != "" {
		f.t.Errorf("on a narrow terminal, the list is %q", lines)
	}
	_, _ = term.Wait()
}
