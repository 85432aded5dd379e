package process

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxPoll is the longest time between two looks at a tree that was told to end. One of its
// processes may have started another one meanwhile.
const maxPoll = 100 * time.Millisecond

// Tree is the processes of an arm that are below this process, which is their reaper.
type Tree struct {
	Group   Group      // the arm's control group
	Program func() int // pid of the arm's program; another goroutine waits for it
	Guard   func() int // pid of a child that is not the arm's; 0: there is none

	// Exited is closed when the program has ended. It is for systems where only the
	// program's own session can be ended.
	Exited <-chan struct{}

	empty atomic.Bool // no process of the arm lives, so none ever will
}

// ReapOrphans collects the orphans that became children of this process, until ctx ends.
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

// reap collects the orphans that have ended. The kernel names one child that has ended.
// All children are listed only when another goroutine must collect that one.
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

// isCollectedElsewhere reports whether another goroutine collects that child.
func (t *Tree) isCollectedElsewhere(pid int) bool { return pid == t.Program() || pid == t.Guard() }

// reapAll collects every orphan that has ended.
func (t *Tree) reapAll() {
	children := ownChildren
	if !listsChildren() {
		children = func() []int { return pidsOf(allProcesses()) }
	}
	for _, pid := range children() {
		if !t.isCollectedElsewhere(pid) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // refused for a process that is not a child of this one
		}
	}
}

// End ends every process of the arm: with HUP and TERM first, with KILL after grace. It
// returns the pids of those that are still there.
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

// processes returns the arm's live processes: all below this one except the guard, and all
// in the arm's control group.
func (t *Tree) processes() []procEntry {
	if listsChildren() {
		return t.descendants()
	}
	return t.among(allProcesses())
}

// among returns those of the arm among processes that were already looked at.
func (t *Tree) among(all []procEntry) []procEntry {
	guard := t.Guard()
	return treeOf(all, t.Group, func(p procEntry) bool { return p.parent == os.Getpid() && p.pid != guard })
}

// treeOf returns the live processes among all that are in a group, for which root returns
// true, or that are below one of these.
func treeOf(all []procEntry, g Group, root func(procEntry) bool) []procEntry {
	in := g.pids()
	listed := func(p procEntry) bool { return root(p) || in[p.pid] }
	return withDescendants(all, listed, func(p procEntry) bool { return root(p) || g.pids()[p.pid] })
}

// awaitGone waits until no process of the arm is left. It calls onLeft with those that are
// left, and returns their pids when the time is over. Between two looks it waits until
// the processes that it saw have ended, because a look at all processes is expensive with
// many arms.
func (t *Tree) awaitGone(limit time.Duration, onLeft func([]procEntry)) []int {
	deadline := time.Now().Add(limit)
	for {
		left := t.processes()
		t.reap()
		if len(left) == 0 && !t.Group.populated() {
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
			time.Sleep(PollEvery) // the rest is in groups below the arm's own
			continue
		}
		awaitEnd(left, min(maxPoll, time.Until(deadline)))
	}
}
