package holder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

const (
	// killTimeout bounds how long processes may take to vanish after KILL. A process in
	// an uninterruptible wait may take longer and is reported.
	killTimeout = 5 * time.Second
	// treePoll is the shortest time between two looks at a tree that was told to end, and
	// treeLook the longest. One of its processes may have started another one meanwhile.
	treePoll = 5 * time.Millisecond
	treeLook = 100 * time.Millisecond
)

// becomeReaper makes this process the parent of every orphan below it, so that no child
// can leave the tree with setsid or a double fork.
func becomeReaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of the arm's processes: %w", err)
	}
	return nil
}

// keepDescriptors keeps children from inheriting descriptors that this process inherited
// by somebody's mistake. Before Linux 5.11 no single call can do that, and
// keepDescriptors does nothing.
func keepDescriptors() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }

// reapOthers collects the orphans that became children of this process. The program
// itself is collected by the goroutine that waits for it.
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

// reap collects the orphans that have ended. The kernel names one child that has ended.
// All children are listed only when another goroutine must collect that one.
func (s *server) reap() {
	for {
		pid, err := endedChild()
		if err != nil || pid == 0 {
			return
		}
		if pid == s.term.Pid() || pid == s.guardPid() {
			break
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil {
			return
		}
	}
	s.reapAll()
}

// reapAll collects every orphan that has ended.
func (s *server) reapAll() {
	children := ownChildren
	if !listsChildren() {
		children = func() []int { return pidsOf(processes()) }
	}
	for _, pid := range children() {
		if pid != s.term.Pid() && pid != s.guardPid() {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // refused for a process that is not a child of this one
		}
	}
}

// endedChild returns the pid of a child that has ended and was not collected, 0 when
// there is none.
func endedChild() (int, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || info.Signo == 0 {
		return 0, err
	}
	return childOf(&info), nil
}

// endTree ends every process below this one: with HUP and TERM first, with KILL after
// grace. It returns the pids of those that are still there.
func (s *server) endTree(grace time.Duration) []int {
	if s.empty.Load() {
		return nil
	}
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

// tree returns the arm's live processes: all below this one except the guard, and all in
// the arm's control group.
func (s *server) tree() []process {
	if listsChildren() {
		return s.descendants()
	}
	return s.treeAmong(processes())
}

// treeAmong is tree restricted to processes that were already looked at.
func (s *server) treeAmong(all []process) []process {
	guard := s.guardPid()
	return treeOf(all, s.group, func(p process) bool { return p.parent == os.Getpid() && p.pid != guard })
}

// treeOf returns the live processes among all that are in a group, for which root returns
// true, or that are below one of these.
func treeOf(all []process, g group, root func(process) bool) []process {
	in := g.pids()
	listed := func(p process) bool { return root(p) || in[p.pid] }
	return below(all, listed, func(p process) bool { return root(p) || g.pids()[p.pid] })
}

// awaitGone waits until no process of the arm is left. It calls again with those that are
// left, and returns their pids when the time is over. Between two looks it waits until
// the processes that it saw have ended, because a look at all processes is expensive with
// many arms.
func (s *server) awaitGone(limit time.Duration, again func([]process)) []int {
	deadline := time.Now().Add(limit)
	for {
		left := s.tree()
		s.reap()
		if len(left) == 0 && !s.group.populated() {
			s.empty.Store(true)
			return nil
		}
		if time.Now().After(deadline) {
			return pidsOf(left)
		}
		if again != nil {
			again(left)
		}
		if len(left) == 0 {
			time.Sleep(treePoll) // the rest is in groups below the arm's own
			continue
		}
		awaitEnd(left, min(treeLook, time.Until(deadline)))
	}
}

// awaitEnd returns when all these processes have ended, or after limit.
func awaitEnd(list []process, limit time.Duration) {
	deadline := time.Now().Add(limit)
	var set []unix.PollFd
	for _, p := range list {
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err == unix.ENOSYS { // before Linux 5.3
			time.Sleep(treePoll)
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

// process is an entry of /proc.
type process struct {
	pid, parent int
	zombie      bool
	own         func() bool // checks again that the process with this pid belongs to the arm
}

func processes() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return lookAtAll(pids)
}

// lookAtAll looks at processes. It leaves out those that are gone.
func lookAtAll(pids []int) []process {
	out := make([]process, 0, len(pids))
	var buf [statRoom]byte
	for _, pid := range pids {
		if p, err := lookAtBy(pid, buf[:]); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func lookAt(pid int) (process, error) {
	var buf [statRoom]byte
	return lookAtBy(pid, buf[:])
}

// statRoom is how much of /proc/PID/stat is read, in bytes. The name has at most 64, and
// state and parent follow it.
const statRoom = 256

// lookAtBy reads a process's state and parent with a buffer of the caller's. A machine
// with 500 arms has thousands of processes. Where the kernel lists no children, each end
// of an arm looks at all of them.
func lookAtBy(pid int, buf []byte) (process, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	behindName := bytes.LastIndexByte(buf[:max(n, 0)], ')')
	if err != nil || behindName < 0 || n < behindName+5 {
		return process{}, fmt.Errorf("look at process %d: %w", pid, errors.Join(err, unix.ESRCH))
	}
	state := buf[behindName+2]
	digits, _, _ := bytes.Cut(buf[behindName+4:n], []byte(" "))
	parent, err := strconv.Atoi(string(digits))
	return process{pid: pid, parent: parent, zombie: state == 'Z'}, err
}

// below returns the live processes for which root returns true and all below them,
// parents first. still takes the place of root when a process is checked again before a
// signal.
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

// signalAll sends signals to processes of an arm, and never to another process that got
// one of their pids since. It first opens a descriptor for each process and checks again
// that the process is the arm's. It signals only after all checks: a process whose parent
// has ended may not be recognised any more.
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

// SweepStarts ends every process that an arm's holders left behind when they died first.
// These are the processes whose environment carries the mark of a start for which which
// returns true, and all below them. It returns the pids that are still there after 5 s.
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

// markedTree returns three kinds of live processes. These are the processes in a group,
// those whose initial environment named a matching start of the arm, and all below them.
// The environments of other users' processes cannot be read; those processes do not
// belong to Coleo.
func markedTree(g group, arm string, which func(generation int, start string) bool) []process {
	return treeOf(processes(), g, func(p process) bool {
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
