package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A holder finds its arm's processes in the kernel's lists of children. It is the reaper
// of every process below it, so each of them is its child or below one of its children.
// The cost depends on the number of the arm's processes, not on that of the machine.

// listsChildren reports whether this kernel lists the children of a process. The result
// is kept, because it cannot change while this process lives.
var listsChildren = sync.OnceValue(func() bool {
	return unix.Access("/proc/thread-self/children", unix.R_OK) == nil
})

// childrenOf returns the children of a process, in order. The list may lack one when
// another child is collected meanwhile.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []int
	for _, t := range tasks { // each thread has a list of its own
		raw, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for field := range bytes.FieldsSeq(raw) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				out = append(out, child)
			}
		}
	}
	slices.Sort(out)
	return out
}

// ownChildren returns all children of this process, including those that have ended. It
// reads until two lists in a row are the same. A list lacks a child only when another
// child that it names was collected meanwhile. The next list does not name the collected
// one, so it differs.
func ownChildren() []int {
	self := os.Getpid()
	list := childrenOf(self)
	for {
		again := childrenOf(self)
		if slices.Equal(list, again) {
			return list
		}
		list = again
	}
}

// descendants returns the arm's live processes by the lists of children. An empty result
// is proven. A child that has ended passes its own children to this process before its
// end shows, and the list is read once more.
func (t *Tree) descendants() []procEntry {
	for {
		children := ownChildren()
		if list := t.among(readProcesses(withAllBelow(children, t.Group))); len(list) > 0 ||
			slices.Equal(children, ownChildren()) {
			return list
		}
	}
}

// withAllBelow returns these processes and those of a group, with all below them.
func withAllBelow(pids []int, g Group) []int {
	listed := map[int]bool{}
	var out []int
	add := func(pid int) {
		if !listed[pid] {
			listed[pid] = true
			out = append(out, pid)
		}
	}
	for _, pid := range pids {
		add(pid)
	}
	for pid := range g.pids() {
		add(pid)
	}
	for i := 0; i < len(out); i++ { // the list grows meanwhile
		for _, pid := range childrenOf(out[i]) {
			add(pid)
		}
	}
	return out
}
