package device

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The methods in this file are for a holder, the process that owns a terminal. A holder needs more than Read
// and Write: it reads output and journals it in one step, and it must know whether the terminal has unread
// output.

// SyscallConn gives access to the master's descriptor while it is open.
func (t *Terminal) SyscallConn() (syscall.RawConn, error) { return t.master.SyscallConn() }

// SetReadDeadline sets a time after which every Read fails. This includes a Read that already
// waits. The zero time removes the deadline.
func (t *Terminal) SetReadDeadline(at time.Time) error { return t.master.SetReadDeadline(at) }

// SetWriteDeadline sets a time after which every Write fails. This includes a Write that already
// waits. A Write waits while the program does not read its input. The zero time removes the
// deadline.
func (t *Terminal) SetWriteDeadline(at time.Time) error { return t.master.SetWriteDeadline(at) }

// Readable reports whether the terminal has output that has not been read yet. It does
// not wait.
func (t *Terminal) Readable() bool {
	raw, err := t.master.SyscallConn()
	if err != nil {
		return false
	}
	ready := false
	err = raw.Control(func(fd uintptr) {
		set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(set, 0)
		ready = err == nil && n > 0 && set[0].Revents&unix.POLLIN != 0
	})
	return err == nil && ready
}
