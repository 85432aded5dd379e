package process

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the first part of siginfo_t for a child that has ended. After the field `code`, the
// kernel aligns the next fields like a pointer.
type childInfo struct {
	signo, errno, code int32
	_                  [0]uintptr
	pid                int32
}

// childOf returns the pid that waitid has written into info.
func childOf(info *unix.Siginfo) int { return int((*childInfo)(unsafe.Pointer(info)).pid) }

// endedChild returns the pid of a child that has ended and that no goroutine has waited for. It
// returns 0 if there is no such child.
func endedChild() (int, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || info.Signo == 0 {
		return 0, err
	}
	return childOf(&info), nil
}

// BecomeReaper makes this process the parent of all orphans below it. So no process below it can
// leave the tree with setsid or a double fork.
func BecomeReaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of the arm's processes: %w", err)
	}
	return nil
}

// CloseDescriptorsOnExec prevents new children from inheriting this process's descriptors, which it
// may itself have inherited by mistake. Before Linux 5.11 it does nothing, because no single system
// call can mark all descriptors.
func CloseDescriptorsOnExec() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }

// leaveTime is how long AwaitEnd gives the last thread of an ended process to remove its files in
// /proc.
const leaveTime = 5 * time.Millisecond

// AwaitEnd waits until the child pid has ended. The caller then collects the child with wait.
//
// The kernel reports the end a moment too early: if anybody has read the child's files in /proc,
// the child's last thread is still removing these files. A parent that collects the child in that
// moment waits in a busy loop of the kernel, for 10 ms and more. That was an eighth of the
// processor time of an arm's life. So AwaitEnd waits for leaveTime after the end.
func AwaitEnd(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	time.Sleep(leaveTime)
}
