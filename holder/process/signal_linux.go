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
	deadline := time.Now().Add(limit)
	var set []unix.PollFd
	for _, p := range list {
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err == unix.ENOSYS { // before Linux 5.3
			time.Sleep(PollEvery)
			return
		}
		if err == nil {
			defer unix.Close(fd)
			set = append(set, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	for len(set) > 0 {
		n, err := unix.Poll(set, int(time.Until(deadline).Milliseconds())+1)
		if n == 0 || err != nil && err != unix.EINTR || time.Now().After(deadline) {
			return
		}
		set = slices.DeleteFunc(set, func(p unix.PollFd) bool { return p.Revents != 0 })
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
