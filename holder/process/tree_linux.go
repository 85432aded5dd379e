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

// maxPoll is the longest time between two looks at a process tree that was told to end.
// A process of the tree may have started another process since the last look.
const maxPoll = 100 * time.Millisecond

// Tree is the process tree of an arm. All its processes are below this process, which
// is their reaper.
type Tree struct {
	Group   Group      // the arm's control group
	Program func() int // pid of the arm's program; another goroutine waits for it
	Guard   func() int // pid of a child that does not belong to the arm; 0: there is none

	// Exited is closed when the program has ended. It is used on systems where only the
	// program's own session can be ended.
	Exited <-chan struct{}

	empty atomic.Bool // no process of the arm lives, so no process of the arm can start
}

// ReapOrphans collects orphans that have become children of this process. It returns
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

// reap collects the orphans that have ended. The kernel names one child that has ended
// at a time. If another goroutine must collect this child, reap lists all children
// instead.
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

// isCollectedElsewhere reports whether another goroutine collects the child with this
// pid.
func (t *Tree) isCollectedElsewhere(pid int) bool { return pid == t.Program() || pid == t.Guard() }

// reapAll collects every orphan that has ended.
func (t *Tree) reapAll() {
	children := ownChildren
	if !listsChildren() {
		children = func() []int { return pidsOf(allProcesses()) }
	}
	for _, pid := range children() {
		if !t.isCollectedElsewhere(pid) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // fails if the process is not a child of this process
		}
	}
}

// End ends all processes of the arm. It sends HUP and TERM first, and KILL after grace.
// It returns the pids of processes that still exist.
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

// processes returns the arm's live processes. These are all processes below this
// process except the guard, and all processes in the arm's control group.
func (t *Tree) processes() []procEntry {
	if listsChildren() {
		return t.descendants()
	}
	return t.among(allProcesses())
}

// among returns those processes in all that belong to the arm. The processes in all
// have already been read.
func (t *Tree) among(all []procEntry) []procEntry {
	guard := t.Guard()
	return treeOf(all, t.Group, func(p procEntry) bool { return p.parent == os.Getpid() && p.pid != guard })
}

// treeOf returns those live processes in all that are in the group g, for which root
// returns true, or that are below such a process.
func treeOf(all []procEntry, g Group, root func(procEntry) bool) []procEntry {
	in := g.pids()
	listed := func(p procEntry) bool { return root(p) || in[p.pid] }
	return withDescendants(all, listed, func(p procEntry) bool { return root(p) || g.pids()[p.pid] })
}

// awaitGone waits until no process of the arm is left. It calls onLeft with the
// processes that are left. When limit has passed, it returns their pids. Between two
// looks it waits until the processes that it saw have ended. With many arms, a look at
// all processes is expensive.
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
			time.Sleep(PollEvery) // the processes that are left are in groups below the arm's group
			continue
		}
		awaitEnd(left, min(maxPoll, time.Until(deadline)))
	}
}
