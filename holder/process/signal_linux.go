package process

import (
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

// awaitEnd waits until all processes in list have ended, but at most for the duration limit.
func awaitEnd(list []procEntry, limit time.Duration) {
	e := watchEnds(list)
	defer e.close()
	e.await(limit)
}

// ends watches the ends of processes.
type ends struct {
	open []unix.PollFd // a pidfd for each process that has not ended
	old  bool          // the kernel has no pidfds, because it is older than Linux 5.3
}

// watchEnds begins to watch the processes in list. The caller must close the result.
func watchEnds(list []procEntry) *ends {
	e := &ends{}
	for _, p := range list {
		fd, err := unix.PidfdOpen(p.pid, 0)
		e.old = e.old || err == unix.ENOSYS
		if err == nil {
			e.open = append(e.open, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	return e
}

// await waits until all watched processes have ended, but at most for `limit`. It reports whether
// they have ended. On a kernel without pidfds, await cannot know this. On such a kernel it waits
// for PollEvery and returns true, so that its caller looks for the processes again.
func (e *ends) await(limit time.Duration) bool {
	if e.old {
		time.Sleep(min(PollEvery, limit))
		return true
	}
	deadline := time.Now().Add(limit)
	for len(e.open) > 0 {
		n, err := unix.Poll(e.open, max(0, int(time.Until(deadline).Milliseconds()+1)))
		if err != nil && err != unix.EINTR || n == 0 {
			return false
		}
		e.open = slices.DeleteFunc(e.open, func(p unix.PollFd) bool {
			if p.Revents != 0 {
				_ = unix.Close(int(p.Fd))
			}
			return p.Revents != 0
		})
		if len(e.open) > 0 && time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// close stops watching.
func (e *ends) close() {
	for _, p := range e.open {
		_ = unix.Close(int(p.Fd))
	}
}

// signalAll sends signals to those processes in list that still belong to the arm. A process that
// has taken the pid of an ended one receives no signal.
//
// signalAll opens a descriptor of each process and checks that the process belongs to the arm,
// before it sends the first signal. Otherwise a parent could end before signalAll checks its
// children, and the check would fail for them.
func signalAll(list []procEntry, signals ...syscall.Signal) {
	var fds []int
	for _, p := range list {
		fd, err := unix.PidfdOpen(p.pid, 0)
		switch {
		case err == unix.ENOSYS && p.own(): // before Linux 5.3
			defer sendAll(signals, func(sig syscall.Signal) { _ = unix.Kill(p.pid, sig) })
		case err == nil && p.own():
			fds = append(fds, fd)
		case err == nil:
			_ = unix.Close(fd)
		}
	}
	for _, fd := range fds {
		sendAll(signals, func(sig syscall.Signal) { _ = unix.PidfdSendSignal(fd, sig, nil, 0) })
		_ = unix.Close(fd)
	}
}

func sendAll(signals []syscall.Signal, send func(syscall.Signal)) {
	for _, sig := range signals {
		send(sig)
	}
}

// Signal sends signals to the process with the identity id, and to no other process.
func Signal(id coleo.Identity, signals ...syscall.Signal) {
	signalAll([]procEntry{{pid: id.PID, own: func() bool { return Same(id) }}}, signals...)
}
