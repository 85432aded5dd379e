package device

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The holder needs more access to the master than Read and Write give. It reads and
// journals in one step, and must know whether there are bytes that have not been read
// yet.

// SyscallConn gives access to the master's descriptor while it is open.
func (t *Terminal) SyscallConn() (syscall.RawConn, error) { return t.master.SyscallConn() }

// SetReadDeadline sets the time at which a pending Read and all later ones fail. The
// zero time removes the deadline.
func (t *Terminal) SetReadDeadline(at time.Time) error { return t.master.SetReadDeadline(at) }

// SetWriteDeadline sets the time at which a waiting Write fails. A Write waits if the
// program does not read.
func (t *Terminal) SetWriteDeadline(at time.Time) error { return t.master.SetWriteDeadline(at) }

// Readable reports whether the program has written output that has not been read yet. It
// does not wait.
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
