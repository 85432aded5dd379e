package holder

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"coleo.dev/holder/process"
)

var (
	escapeCount = flag.Int("escapes", 3, "how often a tree that tries to escape is ended by a stop")
	orphanCount = flag.Int("orphans", 3, "how often such a tree is ended when its holder is killed first")
)

// escapeScript starts every kind of child that can outlive its parent. Each child writes its pid
// into a folder. One is in its own session, and one was forked twice. One ignores HUP and TERM, one
// is stopped, and one is the parent of a zombie.
const escapeScript = `
trap '' HUP TERM
cd "$1"
setsid sh -c 'trap "" HUP TERM; echo $$ > setsid; while :; do sleep 1; done' &
(sh -c 'trap "" HUP TERM; echo $$ > forked; while :; do sleep 1; done' &)
sh -c 'trap "" HUP TERM INT QUIT; echo $$ > deaf; while :; do sleep 1; done' &
setsid sh -c 'echo $$ > stopped; kill -STOP $$; sleep 1000' &
setsid sh -c 'sh -c "exit 0" & echo $$ > zombie; exec sleep 1000' &
while :; do sleep 1; done
`

// bareScript adds a child that shows no sign of the arm: its environment lacks COLEO_ARM, and it has no
// terminal and no parent in the arm. After the holder has died, only the control group shows that this child
// belongs to the arm.
const bareScript = `
setsid env -i PATH="$PATH" sh -c '(sh -c "echo \$\$ > '"$1"'/bare; exec sleep 1000" >/dev/null 2>&1 </dev/null &)'
`

// escape starts a program with the children of escapeScript, waits until they run, and returns their pids. If
// `bare` is true, it also starts the child of bareScript.
func escape(t *testing.T, bare bool) (Status, Launch, []int) {
	t.Helper()
	dir, script := t.TempDir(), escapeScript
	names := []string{"setsid", "forked", "deaf", "stopped", "zombie"}
	if bare {
		script = bareScript + script
		names = append(names, "bare")
	}
	s, l := startProgram(t, "/bin/sh", "-c", script, "sh", dir)
	var pids []int
	for _, name := range names {
		wait(t, func() bool {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			pid, parseErr := strconv.Atoi(strings.TrimSpace(string(raw)))
			if err != nil || parseErr != nil {
				return false
			}
			pids = append(pids, pid)
			return true
		})
	}
	wait(t, func() bool {
		id, err := process.Identify(pids[3])
		return err == nil && process.Look(id) == process.Stopped
	})
	return s, l, append(pids, s.Process.PID)
}

// survivors returns the pids of the processes that still live.
func survivors(pids []int) []int {
	var out []int
	for _, pid := range pids {
		if _, err := process.Identify(pid); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// inParallel calls the function `do` n times, a few calls at a time.
func inParallel(t *testing.T, n int, do func(t *testing.T)) {
	const atOnce = 4
	var group sync.WaitGroup
	work := make(chan int)
	for range atOnce {
		group.Go(func() {
			for i := range work {
				t.Run(strconv.Itoa(i), do)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	group.Wait()
}

func TestNothingEscapesAStop(t *testing.T) {
	t.Parallel()
	inParallel(t, *escapeCount, func(t *testing.T) {
		_, l, pids := escape(t, true)
		left, err := dial(t, l).Stop(20 * time.Millisecond)
		if live := survivors(pids); err != nil || len(left) > 0 || len(live) > 0 {
			t.Errorf("stop = %v, %v; of %v live %v", left, err, pids, live)
		}
	})
}

func TestNothingOutlivesAKilledHolderAndTheNextWaits(t *testing.T) {
	t.Parallel()
	inParallel(t, *orphanCount, func(t *testing.T) {
		s, l, pids := escape(t, false)
		if err := syscall.Kill(s.Holder.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		next := l
		next.Generation++
		next.Argv = []string{"/bin/sh", "-c", "read x"}
		again, err := Start(t.Context(), holdCommand(), next)
		if coleoConflict(err) { // the killed holder still answered
			wait(t, func() bool { again, err = Start(t.Context(), holdCommand(), next); return !coleoConflict(err) })
		}
		if live := survivors(pids); err != nil || len(live) > 0 {
			t.Errorf("the next generation started (%v) while of %v live %v", err, pids, live)
		}
		if err == nil {
			_ = syscall.Kill(again.Holder.PID, syscall.SIGKILL)
		}
	})
}

func TestAControlGroupEndsWhatHasNoMark(t *testing.T) {
	t.Parallel()
	s, l, pids := escape(t, true)
	group, err := os.ReadFile(filepath.Join(l.Dir, "cgroup"))
	if err != nil {
		t.Skip("no control group can be made here: ", err)
	}
	if err := syscall.Kill(s.Holder.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return !process.Same(s.Holder) })
	if err := AwaitGuard(l.Dir); err != nil {
		t.Fatal(err)
	}
	if live := survivors(pids); len(live) > 0 {
		t.Errorf("of %v live %v", pids, live)
	}
	if _, err := os.Stat(string(group)); !os.IsNotExist(err) {
		t.Errorf("the control group stays behind: %v", err)
	}
}

func coleoConflict(err error) bool {
	return err != nil && strings.Contains(err.Error(), "already runs")
}
