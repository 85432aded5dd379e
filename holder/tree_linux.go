package holder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

const (
	// killTimeout bounds how long processes may take to vanish after KILL; a
	// process in an uninterruptible wait may take longer and is reported.
	killTimeout = 5 * time.Second
	// treePoll is how often a tree that was told to end is looked at again.
	treePoll = 5 * time.Millisecond
)

// becomeReaper makes this process the parent of every orphan below it, so that
// no child can leave the tree by setsid or a double fork.
func becomeReaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of the arm's processes: %w", err)
	}
	return nil
}

// keepDescriptors has no child inherit what this process itself has inherited
// by somebody's mistake. Before Linux 5.11 that cannot be had in one step, and
// is left.
func keepDescriptors() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }

// reapOthers collects the orphans that became our children. The program itself
// is collected by who waits for it.
func (s *server) reapOthers(ctx context.Context) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	for {
		s.reap()
		select {
		case <-ctx.Done():
			return
		case <-died:
		}
	}
}

func (s *server) reap() {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || info.Signo == 0 {
		return // no child has ended
	}
	for _, p := range processes() {
		if p.parent == os.Getpid() && p.zombie && p.pid != s.term.Pid() && p.pid != s.guardPid() {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	}
}

// endTree ends every process below this one: hang-up and TERM first, KILL
// after grace. It returns the pids of those that are still there.
func (s *server) endTree(grace time.Duration) []int {
	if grace > 0 {
		signalAll(s.tree(), unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
		if left := s.awaitGone(grace, nil); len(left) == 0 {
			return nil
		}
	}
	return s.awaitGone(killTimeout, func(tree []process) {
		s.group.kill()
		signalAll(tree, unix.SIGKILL)
	})
}

// tree returns the arm's live processes: all below this one but the guard, and
// all in the arm's control group.
func (s *server) tree() []process {
	guard := s.guardPid()
	return treeOf(s.group, func(p process) bool { return p.parent == os.Getpid() && p.pid != guard })
}

// treeOf returns the live processes in a group, those for which root holds,
// and all below them.
func treeOf(g group, root func(process) bool) []process {
	in := g.pids()
	listed := func(p process) bool { return root(p) || in[p.pid] }
	return below(processes(), listed, func(p process) bool { return root(p) || g.pids()[p.pid] })
}

// awaitGone waits until nothing of the arm is there, calling again with what
// is left, and returns the rest when the time is over.
func (s *server) awaitGone(limit time.Duration, again func([]process)) []int {
	deadline := time.Now().Add(limit)
	for {
		left := s.tree()
		s.reap()
		if len(left) == 0 && !s.group.populated() || time.Now().After(deadline) {
			return pidsOf(left)
		}
		if again != nil {
			again(left)
		}
		time.Sleep(treePoll)
	}
}

// process is one that /proc lists.
type process struct {
	pid, parent int
	zombie      bool
	own         func() bool // tells anew that what has this pid belongs to the arm
}

func processes() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := lookAt(pid); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func lookAt(pid int) (process, error) {
	fields, err := statFields(pid)
	if err != nil || len(fields) <= statParent {
		return process{}, fmt.Errorf("look at process %d: %w", pid, errors.Join(err, unix.ESRCH))
	}
	parent, err := strconv.Atoi(fields[statParent])
	return process{pid: pid, parent: parent, zombie: fields[statState] == "Z"}, err
}

// below returns the live processes of those for which root holds and of all
// below them, parents first. still is root again, when one is to be signalled.
func below(all []process, root, still func(process) bool) []process {
	in := map[int]bool{}
	var out []process
	add := func(p process, own func() bool) {
		in[p.pid] = true
		if p.own = own; !p.zombie {
			out = append(out, p)
		}
	}
	for _, p := range all {
		if root(p) {
			pid := p.pid
			add(p, func() bool { now, err := lookAt(pid); return err == nil && still(now) })
		}
	}
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if in[p.parent] && !in[p.pid] {
				pid := p.pid
				add(p, func() bool { now, err := lookAt(pid); return err == nil && (in[now.parent] || still(now)) })
				grew = true
			}
		}
	}
	return out
}

func pidsOf(list []process) []int {
	var out []int
	for _, p := range list {
		out = append(out, p.pid)
	}
	return out
}

// signalAll sends signals to processes of an arm, and to nothing that got one
// of their pids since: each is held by a descriptor, then shown anew to be the
// arm's, and only then is any signalled, because a process whose parent has
// ended may not be known again.
func signalAll(list []process, signals ...syscall.Signal) {
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

// signalOne sends signals to the process that id names, and to no other.
func signalOne(id coleo.Identity, signals ...syscall.Signal) {
	signalAll([]process{{pid: id.PID, own: func() bool { return SameProcess(id) }}}, signals...)
}

// SweepStarts ends every process that holders of an arm's starts left behind when
// they died first: those that carry the mark of such a start in their
// environment, and all below them. Starts for which which is false are left
// alone. It returns the pids that are still there after the time-out.
func SweepStarts(arm string, which func(generation int, start string) bool) []int {
	deadline := time.Now().Add(killTimeout)
	for {
		left := markedTree(group{}, arm, which)
		if len(left) == 0 || time.Now().After(deadline) {
			return pidsOf(left)
		}
		signalAll(left, unix.SIGKILL)
		time.Sleep(treePoll)
	}
}

// markedTree returns the live processes in a group, those whose environment at
// their start named such a start of the arm, and those below them. Environments
// of other users' processes cannot be read; they are not ours.
func markedTree(g group, arm string, which func(generation int, start string) bool) []process {
	return treeOf(g, func(p process) bool {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
		if err != nil {
			return false
		}
		_, mark, marked := bytes.Cut(append([]byte{0}, env...), []byte("\x00"+EnvArm+"="+arm+"/"))
		if !marked {
			return false
		}
		mark, _, _ = bytes.Cut(mark, []byte{0})
		number, start, _ := strings.Cut(string(mark), "/")
		generation, err := strconv.Atoi(number)
		return err == nil && which(generation, start)
	})
}
