package process

//platform:linux Processes that an earlier start has left = are found and ended before each start

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Marked returns the pids of the live processes whose environment contains the mark of the arm, of
// any generation. It also returns the pids of all processes below these.
func Marked(arm string) []int { return pidsOf(markedTree(Group{}, arm, everyStart)) }

// MarkedFrom works like Marked, but ignores the marks of generations before `oldest`.
func MarkedFrom(arm string, oldest int) []int {
	return pidsOf(markedTree(Group{}, arm, func(generation int, _ string) bool { return generation >= oldest }))
}

// SweepStarts ends the processes that an arm's holders left behind when they died. The given
// function selects the starts. SweepStarts ends each process whose environment contains the mark of
// a selected start, and all processes below it. It returns the pids of processes that still exist
// after KillTimeout, which is 5 s.
func SweepStarts(arm string, which func(generation int, start string) bool) []int {
	deadline := time.Now().Add(KillTimeout)
	for {
		left := markedTree(Group{}, arm, which)
		if len(left) == 0 || time.Now().After(deadline) {
			return pidsOf(left)
		}
		signalAll(left, unix.SIGKILL)
		awaitEnd(left, maxPoll)
	}
}

// markedTree returns these live processes:
//
//   - the processes in the group g
//   - the processes whose initial environment contains the mark of a start of the arm that the given
//     function selects
//   - all processes below these
//
// It cannot read the environments of other users' processes, but those do not belong to Coleo.
func markedTree(g Group, arm string, which func(generation int, start string) bool) []procEntry {
	return treeOf(allProcesses(), g, func(p procEntry) bool {
		env, err := readFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
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

// EndMarked ends the processes that markedTree returns for the same arguments:
//
//   - It sends HUP and TERM at once, and KILL after the grace time.
//   - It searches for the processes repeatedly, because a process can start another one.
//   - Between two searches, it calls the function `meanwhile` repeatedly, until the processes that
//     it has found have ended. It does so at most for the rest of the grace time, and later for
//     maxPoll. Each call of `meanwhile` must take about PollEvery.
//
// EndMarked returns the pids of processes that still exist KillTimeout after the KILL.
func EndMarked(g Group, arm string, which func(generation int, start string) bool, grace time.Duration,
	meanwhile func()) []int {
	polite := false
	start := time.Now()
	for {
		tree := markedTree(g, arm, which)
		now := time.Since(start)
		// Wait at most until the grace time has passed, because the first check after it sends the KILL.
		wait := max(maxPoll, grace-now+time.Millisecond)
		switch {
		case len(tree) == 0 || now > grace+KillTimeout:
			return pidsOf(tree)
		case now > grace:
			signalAll(tree, unix.SIGKILL)
		case !polite:
			polite = true
			signalAll(tree, unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
		}
		untilEnded(tree, wait, meanwhile)
	}
}

// untilEnded calls the function `meanwhile` again and again until the processes in `list` have
// ended, but at most for the duration `limit`. It calls the function at least once.
func untilEnded(list []procEntry, limit time.Duration, meanwhile func()) {
	e := watchEnds(list)
	defer e.close()
	for deadline := time.Now().Add(limit); ; {
		meanwhile()
		if e.await(0) || time.Now().After(deadline) {
			return
		}
	}
}
