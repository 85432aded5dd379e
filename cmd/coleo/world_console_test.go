package main

import (
	"io"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/pty"
	"coleo.dev/pty/device"
)

// console is a command line that runs on a terminal, and the keys of its user.
type console struct {
	*device.Terminal
	t    *testing.T
	read chan struct{} // closed when the program has written all its output

	mu    sync.Mutex
	shown strings.Builder
}

// onTerminal starts a command line on a terminal of the given size.
func (w *world) onTerminal(cols, rows int, args ...string) *console {
	w.t.Helper()
	term, err := device.Start(device.Command{Path: w.path("bin/coleo"), Args: args, Env: w.env, Dir: w.dir,
		Cols: cols, Rows: rows})
	w.check(err)
	c := &console{Terminal: term, t: w.t, read: make(chan struct{})}
	go func() {
		defer close(c.read)
		_, _ = io.Copy(c, term)
	}()
	w.t.Cleanup(func() { _ = term.Close(); <-c.read; _, _ = term.Wait() })
	return c
}

// Write receives what the program writes to its terminal.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.Write(p)
}

func (c *console) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.String()
}

func (c *console) shows(text string) bool { return strings.Contains(c.output(), text) }

func (c *console) types(text string) {
	c.t.Helper()
	if _, err := c.Terminal.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// screen returns what a terminal of the given size shows after the program's output.
func (c *console) screen(cols, rows int) coleo.Screen {
	screen := pty.New(cols, rows)
	_, _ = screen.Write([]byte(c.output()))
	return screen.View()
}

// ends waits until the program ends, and returns its exit code and its output.
func (c *console) ends() (code int, output string) {
	c.t.Helper()
	<-c.read
	state, err := c.Wait()
	if err != nil {
		c.t.Fatal(err)
	}
	return state.ExitCode(), c.output()
}
