// Package device runs one program on one pseudo-terminal, and passes bytes to and from the program.
// It does not interpret these bytes. The pseudo-terminal ends with the process that uses the
// package.
package device

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	creack "github.com/creack/pty"
	"golang.org/x/sys/unix"

	"coleo.dev/pty"
)

const defaultTerm = "TERM=xterm-256color"

// Command describes a program to start. If Cols or Rows is zero, the terminal has the default size.
type Command struct {
	Path string   // file to execute; Start does not search PATH
	Args []string // arguments, without the program's name
	Env  []string // complete environment, KEY=value; TERM is added if missing
	Dir  string   // working folder; empty means the caller's folder
	Cols int      // in cells
	Rows int      // in cells
}

// Terminal is the master side of a pseudo-terminal, and the program that runs on the
// pseudo-terminal. Several goroutines can call its methods at the same time.
type Terminal struct {
	master *os.File
	cmd    *exec.Cmd

	wait  sync.Once
	state *os.ProcessState
	err   error
}

// Start runs the program c on a new pseudo-terminal. The program is the leader of its
// own session, and the pseudo-terminal is its controlling terminal. The program does
// not inherit the master. Start returns an error if the program or the pseudo-terminal
// could not be started.
func Start(c Command) (*Terminal, error) {
	cmd := &exec.Cmd{
		Path: c.Path,
		Args: append([]string{c.Path}, c.Args...),
		Env:  withTerm(c.Env),
		Dir:  c.Dir,
	}
	cols, rows := orDefault(c.Cols, pty.DefaultCols), orDefault(c.Rows, pty.DefaultRows)
	blocking, err := creack.StartWithSize(cmd, winsize(cols, rows))
	if err != nil {
		return nil, fmt.Errorf("start %s on a pseudo-terminal: %w", c.Path, err)
	}
	master, err := interruptible(blocking)
	if err != nil {
		_ = blocking.Close() // closing the terminal sends HUP to the program
		_, _ = cmd.Process.Wait()
		return nil, fmt.Errorf("start %s on a pseudo-terminal: %w", c.Path, err)
	}
	return &Terminal{master: master, cmd: cmd}, nil
}

// interruptible returns a copy of f that the Go runtime polls, and closes f. creack/pty leaves the master in
// blocking mode. In this mode, Close would wait for a Read, and the Read waits for output of the program. The
// program would then never receive SIGHUP.
func interruptible(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate descriptor of %s: %w", f.Name(), err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("make %s interruptible: %w", f.Name(), err)
	}
	master := os.NewFile(uintptr(fd), f.Name())
	return master, f.Close()
}

func orDefault(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}

// withTerm returns a copy of env that contains TERM. The copy is never nil, because exec would
// replace a nil environment with the environment of this process.
func withTerm(env []string) []string {
	out := append(make([]string, 0, len(env)+1), env...)
	for _, kv := range env {
		if strings.HasPrefix(kv, "TERM=") {
			return out
		}
	}
	return append(out, defaultTerm)
}

func winsize(cols, rows int) *creack.Winsize {
	cols, rows = pty.ClampSize(cols, rows)
	return &creack.Winsize{
		Cols: uint16(cols), Rows: uint16(rows),
		X: uint16(cols * pty.CellWidth), Y: uint16(rows * pty.CellHeight),
	}
}

// Read reads what the program wrote. It returns io.EOF when all processes, including
// the program, have closed the terminal. It returns os.ErrClosed after Close.
func (t *Terminal) Read(p []byte) (int, error) {
	n, err := t.master.Read(p)
	if errors.Is(err, syscall.EIO) { // Linux returns EIO when the slave is closed
		err = io.EOF
	}
	return n, err
}

// Write types p into the terminal. It returns os.ErrClosed after Close, and os.ErrDeadlineExceeded
// after the write deadline.
func (t *Terminal) Write(p []byte) (int, error) {
	return t.master.Write(p)
}

// Resize sets the terminal's size in cells. If the size changes, the program receives SIGWINCH. If
// a size is outside the range from 2x1 to 1000x1000, Resize takes the nearest size in this range.
// It returns an error after Close, or if the kernel refuses the size.
func (t *Terminal) Resize(cols, rows int) error {
	size := winsize(cols, rows)
	raw, err := t.master.SyscallConn()
	if err != nil {
		return fmt.Errorf("resize terminal to %dx%d: %w", cols, rows, err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { // do not call Fd here, because it would make reads uninterruptible
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ,
			&unix.Winsize{Row: size.Rows, Col: size.Cols, Xpixel: size.X, Ypixel: size.Y})
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("resize terminal to %dx%d: %w", cols, rows, err)
	}
	return nil
}

// Pid returns the program's process id. The program's session and process group have
// the same id.
func (t *Terminal) Pid() int {
	return t.cmd.Process.Pid
}

// Signal sends sig to the program, and to no other process. It returns
// os.ErrProcessDone after Wait has returned.
func (t *Terminal) Signal(sig os.Signal) error {
	return t.cmd.Process.Signal(sig)
}

// Wait waits until the program ends, and returns the program's final state. It can be called more
// than once. An exit status other than 0 is not an error.
func (t *Terminal) Wait() (*os.ProcessState, error) {
	t.wait.Do(func() {
		t.state, t.err = t.cmd.Process.Wait()
	})
	return t.state, t.err
}

// Close closes the master. The program receives SIGHUP, and a blocked Read returns.
// Close does not wait for the program.
func (t *Terminal) Close() error {
	return t.master.Close()
}
