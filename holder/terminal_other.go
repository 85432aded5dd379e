//go:build !linux

package holder

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev/pty/device"
)

// terminal is a pseudo-terminal of package pty, which opens one and starts the program in
// one step.
type terminal struct {
	*device.Terminal
	cols, rows int
}

func openTerminal(cols, rows int) (*terminal, error) { return &terminal{cols: cols, rows: rows}, nil }

func (t *terminal) start(argv, env []string, dir string, _ group) error {
	term, err := device.Start(device.Command{Path: argv[0], Args: argv[1:], Env: env, Dir: dir, Cols: t.cols, Rows: t.rows})
	t.Terminal = term
	return err
}

// Close closes the master, if there is one yet.
func (t *terminal) Close() error {
	if t.Terminal == nil {
		return nil
	}
	return t.Terminal.Close()
}

// control calls f with the master's descriptor.
func (t *terminal) control(f func(fd int)) error {
	if t.Terminal == nil {
		return errors.New("there is no terminal yet")
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
}

// readable waits for output, at most limit, and reports whether there is any.
func readable(fd int, limit time.Duration) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(set, int(limit.Milliseconds()))
	return err == nil && n > 0 && set[0].Revents&unix.POLLIN != 0
}
