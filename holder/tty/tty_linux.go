package tty

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev/holder/process"
)

// On Linux a holder opens its pseudo-terminal without package pty/device. That package would add
// the emulator to the process, but a holder must be a small process. A test checks that the program
// sees the same terminal with both packages.

// These are the limits for the size of a terminal in cells, and the size of one cell in pixels.
// Package pty has the same values.
const (
	minCols, minRows      = 2, 1
	maxSize               = 1000
	cellWidth, cellHeight = 10, 20
)

// Terminal is the master side of a pseudo-terminal, and the program that runs on the
// pseudo-terminal.
type Terminal struct {
	master  *os.File
	slave   *os.File // open until Start
	process *os.Process
}

// Open opens a pseudo-terminal of cols by rows cells. No program runs on it yet. No child inherits
// the master.
func Open(cols, rows int) (*Terminal, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	t := &Terminal{master: os.NewFile(uintptr(fd), "/dev/ptmx")}
	t.slave, err = openSlave(fd)
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, winsize(cols, rows))
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	return t, nil
}

func openSlave(master int) (*os.File, error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	path := fmt.Sprintf("/dev/pts/%d", n)
	// Try first to open the slave through the master, because another mount can hide its path in
	// /dev/pts.
	flags := unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	if fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(flags)); errno == 0 {
		return os.NewFile(fd, path), nil
	}
	return os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
}

func winsize(cols, rows int) *unix.Winsize {
	if cols <= 0 {
		cols = DefaultCols
	}
	if rows <= 0 {
		rows = DefaultRows
	}
	cols, rows = min(max(cols, minCols), maxSize), min(max(rows, minRows), maxSize)
	return &unix.Winsize{
		Col: uint16(cols), Row: uint16(rows), Xpixel: uint16(cols * cellWidth), Ypixel: uint16(rows * cellHeight),
	}
}

// keySignals are the signals that a terminal sends to its programs.
var keySignals = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT}

// stopIgnoring gives the programs that are started later the default action of the given signals. A program inherits
// that a signal is ignored. A shell ignores SIGINT and SIGQUIT in the programs that it runs in the background. nohup
// ignores SIGHUP. Without stopIgnoring, CTRL_C would then interrupt no agent CLI. The signals still do not end the
// calling process.
func stopIgnoring(signals []os.Signal) {
	for _, s := range signals {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // the start of a program sets a handled signal to its default action
		}
	}
}

// Start runs a program on the terminal. The program is the leader of its own session, and the
// terminal is its controlling terminal. The program starts in the given control group. If there is
// no group, or if the start in the group fails, the program starts without a group.
func (t *Terminal) Start(argv, env []string, dir string, group process.Group) error {
	defer func() { t.slave.Close(); t.slave = nil }()
	stopIgnoring(keySignals)
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "TERM=") }) {
		env = append(env, "TERM=xterm-256color")
	}
	attr := &os.ProcAttr{
		Dir: dir, Env: env, Files: []*os.File{t.slave, t.slave, t.slave},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
	}
	var err error
	if fd := group.Fd(); fd >= 0 {
		defer unix.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
		if t.process, err = os.StartProcess(argv[0], argv, attr); err == nil {
			return nil
		}
		attr.Sys.UseCgroupFD = false // start the program again, without the control group
	}
	t.process, err = os.StartProcess(argv[0], argv, attr)
	return err
}

// Resize sets the size of the terminal to cols by rows cells.
func (t *Terminal) Resize(cols, rows int) error {
	var failed error
	err := t.Control(func(fd int) { failed = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, winsize(cols, rows)) })
	return errors.Join(err, failed)
}

// Readable reports whether the terminal has output that has not been read yet. It does
// not wait.
func (t *Terminal) Readable() bool {
	ready := false
	err := t.Control(func(fd int) { ready = Readable(fd, 0) })
	return err == nil && ready
}

// Readable waits until there is output on the descriptor fd, but at most for the time limit. It
// reports whether there is output.
func Readable(fd int, limit time.Duration) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(set, int(limit.Milliseconds()))
	return err == nil && n > 0 && set[0].Revents&unix.POLLIN != 0
}

// Control calls f with the master's descriptor.
func (t *Terminal) Control(f func(fd int)) error {
	raw, err := t.master.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
}

// Write types p into the terminal.
func (t *Terminal) Write(p []byte) (int, error) { return t.master.Write(p) }

// SyscallConn gives access to the master's descriptor while it is open.
func (t *Terminal) SyscallConn() (syscall.RawConn, error) { return t.master.SyscallConn() }

// SetReadDeadline sets a time after which every read fails. This includes a read that already
// waits.
func (t *Terminal) SetReadDeadline(at time.Time) error { return t.master.SetReadDeadline(at) }

// SetWriteDeadline sets a time after which every Write fails. This includes a Write that already
// waits. A Write waits while the program does not read its input.
func (t *Terminal) SetWriteDeadline(at time.Time) error { return t.master.SetWriteDeadline(at) }

// Pid returns the program's process id.
func (t *Terminal) Pid() int { return t.process.Pid }

// Signal sends a signal to the program, and to no other process.
func (t *Terminal) Signal(sig os.Signal) error { return t.process.Signal(sig) }

// Wait waits until the program ends, and returns the program's final state.
func (t *Terminal) Wait() (*os.ProcessState, error) { return t.process.Wait() }

// Close closes the master. The program then receives HUP, unless another process has the master
// open.
func (t *Terminal) Close() error {
	if t.slave != nil {
		t.slave.Close()
	}
	return t.master.Close()
}
