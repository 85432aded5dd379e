package process

//platform:linux End of an arm = all its processes end, also those with a session of their own

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxPoll is the longest time between two checks of a process tree that must end. It is short,
// because a process of the tree can start another process between two checks.
const maxPoll = 100 * time.Millisecond

// Tree is the process tree of an arm. All its processes are below the calling process, which is
// their reaper.
type Tree struct {
	Group   Group      // control group of the arm
	Program func() int // returns the pid of the arm's program, for whose end another goroutine waits
	Guard   func() int // returns the pid of the guard, a child that is not part of the arm; 0 if there is none

	// Exited is closed when the program has ended. It is not used on Linux.
	Exited <-chan struct{}

	empty atomic.Bool // the arm has no process left, so no process can start another one
}

// ReapOrphans reaps orphans that have become children of this process, when they end. It returns
// when ctx ends.
func (t *Tree) ReapOrphans(ctx context.Context) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	for {
		t.reap()
		select {
		case <-ctx.Done():
			return
		case <-died:
		}
	}
}

// reap reaps the orphans that have ended. The kernel shows one ended child, and shows the same
// child again until somebody collects it. If that child is the program or the guard, another
// goroutine must collect it. To find the orphans behind it, reap then calls reapAll, which tries
// every child.
func (t *Tree) reap() {
	for {
		pid, err := endedChild()
		if err != nil || pid == 0 {
			return
		}
		if t.isCollectedElsewhere(pid) {
			break
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil {
			return
		}
	}
	t.reapAll()
}

// isCollectedElsewhere reports whether another goroutine waits for the child pid.
func (t *Tree) isCollectedElsewhere(pid int) bool { return pid == t.Program() || pid == t.Guard() }

// reapAll reaps the orphans that have ended. It tries each child.
func (t *Tree) reapAll() {
	children := ownChildren
	if !listsChildren() {
		children = func() []int { return pidsOf(allProcesses()) }
	}
	for _, pid := range children() {
		if !t.isCollectedElsewhere(pid) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // fails for a process that is not a child of this one
		}
	}
}

// End ends all processes of the arm. It sends HUP and TERM first, and KILL after the grace time.
// End returns the pids of processes that still exist.
func (t *Tree) End(grace time.Duration) []int {
	if t.empty.Load() {
		return nil
	}
	if grace > 0 {
		signalAll(t.processes(), unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
		if left := t.awaitGone(grace, nil); len(left) == 0 {
			return nil
		}
	}
	return t.awaitGone(KillTimeout, func(tree []procEntry) {
		t.Group.kill()
		signalAll(tree, unix.SIGKILL)
	})
}

// processes returns the arm's live processes. These are all processes below this process except the
// guard, and all processes in the arm's control group.
func (t *Tree) processes() []procEntry {
	if listsChildren() {
		return t.descendants()
	}
	return t.among(allProcesses())
}

// among searches the processes in the parameter `all`, and returns those that belong to the arm.
func (t *Tree) among(all []procEntry) []procEntry {
	guard := t.Guard()
	return treeOf(all, t.Group, func(p procEntry) bool { return p.parent == os.Getpid() && p.pid != guard })
}

// treeOf searches the processes in the parameter `all`. It returns the live processes in the group g, those
// for which isRoot returns true, and those below any of these.
func treeOf(all []procEntry, g Group, isRoot func(procEntry) bool) []procEntry {
	in := g.pids()
	listed := func(p procEntry) bool { return isRoot(p) || in[p.pid] }
	return withDescendants(all, listed, func(p procEntry) bool { return isRoot(p) || g.pids()[p.pid] })
}

// awaitGone waits until no process of the arm is left, but not longer than limit. It returns the
// pids of the processes that are left, or nil if there are none. Each time that it finds processes
// before the limit, it passes them to onLeft, which can be nil.
//
// Reading the list of all processes takes long on a machine with many arms. So before awaitGone
// reads the list again, it waits for the end of the processes that it has found, but at most for
// maxPoll.
func (t *Tree) awaitGone(limit time.Duration, onLeft func([]procEntry)) []int {
	deadline := time.Now().Add(limit)
	for {
		left := t.processes()
		t.reap()
		if len(left) == 0 && !t.Group.isPopulated() {
			t.empty.Store(true)
			return nil
		}
		if time.Now().After(deadline) {
			return pidsOf(left)
		}
		if onLeft != nil {
			onLeft(left)
		}
		if len(left) == 0 {
			time.Sleep(PollEvery) // no process is listed, but a control group below the arm's one has some
			continue
		}
		awaitEnd(left, min(maxPoll, time.Until(deadline)))
	}
}
