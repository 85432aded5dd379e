package process

import (
	"fmt"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the first part of siginfo_t for a child that has ended. After the field `code`, the
// kernel aligns the next fields of siginfo_t as it aligns a pointer.
type childInfo struct {
	signo, errno, code int32
	_                  [0]uintptr
	pid                int32
}

// childOf returns the pid that waitid has written into the given info.
func childOf(info *unix.Siginfo) int { return int((*childInfo)(unsafe.Pointer(info)).pid) }

// endedChild returns the pid of a child that has ended and has not been collected. It
// returns 0 if there is no such child.
func endedChild() (int, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || info.Signo == 0 {
		return 0, err
	}
	return childOf(&info), nil
}

// BecomeReaper makes this process the parent of all orphans below it. Then no process below it can
// leave the tree with setsid or a double fork.
func BecomeReaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of the arm's processes: %w", err)
	}
	return nil
}

// CloseDescriptorsOnExec prevents new children from inheriting this process's descriptors. This
// process can have inherited descriptors by mistake. Before Linux 5.11, no single system call can
// close all of them on exec, so CloseDescriptorsOnExec does nothing.
func CloseDescriptorsOnExec() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }
