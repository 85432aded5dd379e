//go:build !linux

package tty

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev/holder/process"
	"coleo.dev/pty/device"
)

// Terminal is a terminal of package pty/device. That package opens a pseudo-terminal and starts its
// program in one step, so before Start a Terminal contains only the size.
type Terminal struct {
	*device.Terminal
	cols, rows int
}

// Open returns a Terminal without a pseudo-terminal. Start opens the pseudo-terminal.
func Open(cols, rows int) (*Terminal, error) { return &Terminal{cols: cols, rows: rows}, nil }

// Start opens the pseudo-terminal and runs a program on it. Start ignores the parameter for the
// control group, because this system has no control groups.
func (t *Terminal) Start(argv, env []string, dir string, _ process.Group) error {
	term, err := device.Start(device.Command{Path: argv[0], Args: argv[1:], Env: env, Dir: dir, Cols: t.cols,
		Rows: t.rows})
	t.Terminal = term
	return err
}

// Close closes the master if Start has opened it.
func (t *Terminal) Close() error {
	if t.Terminal == nil {
		return nil
	}
	return t.Terminal.Close()
}

// Control calls f with the master's descriptor.
func (t *Terminal) Control(f func(fd int)) error {
	if t.Terminal == nil {
		return errors.New("there is no terminal yet")
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
}

// Readable waits until there is output on the descriptor fd, but at most for the time limit. It
// reports whether there is output.
func Readable(fd int, limit time.Duration) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(set, int(limit.Milliseconds()))
	return err == nil && n > 0 && set[0].Revents&unix.POLLIN != 0
}
