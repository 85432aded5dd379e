package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Marked returns the pids of what is left of an arm. These are the processes that carry
// its mark in their environment, of any generation, and those below them. It finds none
// where other processes cannot be read.
func Marked(arm string) []int { return pidsOf(markedTree(Group{}, arm, everyStart)) }

// MarkedFrom is Marked for the generations from oldest on.
func MarkedFrom(arm string, oldest int) []int {
	return pidsOf(markedTree(Group{}, arm, func(generation int, _ string) bool { return generation >= oldest }))
}

// SweepStarts ends every process that an arm's holders left behind when they died first.
// These are the processes whose environment carries the mark of a start for which which
// returns true, and all below them. It returns the pids that are still there after 5 s.
func SweepStarts(arm string, which func(generation int, start string) bool) []int {
	deadline := time.Now().Add(KillTimeout)
	for {
		left := markedTree(Group{}, arm, which)
		if len(left) == 0 || time.Now().After(deadline) {
			return pidsOf(left)
		}
		signalAll(left, unix.SIGKILL)
		time.Sleep(PollEvery)
	}
}

// markedTree returns three kinds of live processes. These are the processes in a group,
// those whose initial environment named a matching start of the arm, and all below them.
// The environments of other users' processes cannot be read; those processes do not
// belong to Coleo.
func markedTree(g Group, arm string, which func(generation int, start string) bool) []procEntry {
	return treeOf(allProcesses(), g, func(p procEntry) bool {
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

// EndMarked ends the processes in a group, those with the mark of a start for which which
// returns true, and all below them. It sends HUP and TERM first, and KILL after grace. It
// calls meanwhile between two looks, which must take PollEvery or so. It returns the pids
// of those that are still there KillTimeout later.
func EndMarked(g Group, arm string, which func(generation int, start string) bool, grace time.Duration,
	meanwhile func()) []int {
	polite := false
	start := time.Now()
	for {
		tree := markedTree(g, arm, which)
		switch now := time.Since(start); {
		case len(tree) == 0 || now > grace+KillTimeout:
			return pidsOf(tree)
		case now > grace:
			signalAll(tree, unix.SIGKILL)
		case !polite:
			polite = true
			signalAll(tree, unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
		}
		meanwhile()
	}
}
