package holder

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
	for _, p := range processes() {
		if p.parent == os.Getpid() && p.zombie && p.pid != s.term.Pid() {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	}
}

// endTree ends every process below this one: hang-up and TERM first, KILL
// after grace. It returns the pids of those that are still there.
func (s *server) endTree(grace time.Duration) []int {
	if grace > 0 {
		signalAll(descendants(os.Getpid()), unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
		if left := s.awaitGone(grace, nil); len(left) == 0 {
			return nil
		}
	}
	return s.awaitGone(killTimeout, func(pids []int) { signalAll(pids, unix.SIGKILL) })
}

// awaitGone waits until nothing is below this process, calling again with what
// is left, and returns the rest when the time is over.
func (s *server) awaitGone(limit time.Duration, again func([]int)) []int {
	deadline := time.Now().Add(limit)
	for {
		left := descendants(os.Getpid())
		s.reap()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		if again != nil {
			again(left)
		}
		time.Sleep(treePoll)
	}
}

func signalAll(pids []int, signals ...syscall.Signal) {
	for _, sig := range signals {
		for _, pid := range pids {
			_ = unix.Kill(pid, sig)
		}
	}
}

type process struct {
	pid, parent int
	zombie      bool
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
		fields, err := statFields(pid)
		if err != nil || len(fields) <= statParent {
			continue
		}
		parent, _ := strconv.Atoi(fields[statParent])
		out = append(out, process{pid: pid, parent: parent, zombie: fields[statState] == "Z"})
	}
	return out
}

// descendants returns the live processes below root, parents first.
func descendants(root int) []int {
	all := processes()
	below := map[int]bool{root: true}
	var out []int
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if below[p.parent] && !below[p.pid] {
				below[p.pid], grew = true, true
				if !p.zombie {
					out = append(out, p.pid)
				}
			}
		}
	}
	return out
}

// Sweep ends every process of an arm that its holder left behind when it died
// first: those that carry the arm's mark in their environment, whatever the
// generation. It returns the pids that are still there after the time-out.
func Sweep(arm string) []int {
	deadline := time.Now().Add(killTimeout)
	for {
		left := marked(arm)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		signalAll(left, unix.SIGKILL)
		time.Sleep(treePoll)
	}
}

// marked returns the live processes whose environment at their start named the
// arm. Those of other users cannot be read and are not ours.
func marked(arm string) []int {
	want := []byte("\x00" + EnvArm + "=" + arm + "/")
	var out []int
	for _, p := range processes() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
		if err == nil && !p.zombie && bytes.Contains(append([]byte{0}, env...), want) {
			out = append(out, p.pid)
		}
	}
	return out
}
