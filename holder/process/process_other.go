//go:build !linux

package process

//platform:macos End of an arm = the processes of the program's own session end
//platform:macos Processes that an earlier start has left = are not found

import (
	"context"
	"syscall"
	"time"

	"coleo.dev"
)

// A process cannot become a subreaper on this system. A child that makes its own session leaves the
// tree, and Coleo cannot find it again. So Coleo ends only the program's own process group.

// BecomeReaper does nothing on this system.
func BecomeReaper() error { return nil }

// CloseDescriptorsOnExec does nothing on this system.
func CloseDescriptorsOnExec() {}

// AwaitEnd returns at once on this system. Only on Linux must a parent wait before it collects a
// child.
func AwaitEnd(int) {}

// Tree is the process tree of an arm.
type Tree struct {
	Group   Group           // control group of the arm
	Program func() int      // pid of the arm's program
	Guard   func() int      // not used on this system
	Exited  <-chan struct{} // closed when the program has ended
}

// ReapOrphans does nothing on this system.
func (*Tree) ReapOrphans(context.Context) {}

// End ends the processes in the program's own process group. It sends HUP and TERM first, and KILL
// after the grace time. It returns nil, because it does not look for processes that are left.
func (t *Tree) End(grace time.Duration) []int {
	group := -t.Program()
	if grace > 0 {
		_ = syscall.Kill(group, syscall.SIGHUP)
		_ = syscall.Kill(group, syscall.SIGTERM)
		select {
		case <-t.Exited:
		case <-time.After(grace):
		}
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	return nil
}

// SweepStarts returns nil on this system, where Coleo cannot read the environments of
// other processes.
func SweepStarts(string, func(int, string) bool) []int { return nil }

// EndMarked returns nil on this system, where Coleo cannot read the environments of
// other processes.
func EndMarked(Group, string, func(int, string) bool, time.Duration, func()) []int { return nil }

// Marked returns nil on this system, where Coleo cannot read the environments of other
// processes.
func Marked(string) []int { return nil }

// MarkedFrom returns nil on this system.
func MarkedFrom(string, int) []int { return nil }

// Signal sends signals to the process with the identity id, and to no other process.
func Signal(id coleo.Identity, signals ...syscall.Signal) {
	for _, sig := range signals {
		if Same(id) {
			_ = syscall.Kill(id.PID, sig)
		}
	}
}
