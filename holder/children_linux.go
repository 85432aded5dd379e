package holder

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A holder finds its arm's processes by the kernel's lists of children. It is the
// reaper of all below it, so each of them is its child, or below one of its
// children. That costs as much as the arm has processes, not as the machine has.

// listsChildren tells whether this kernel lists the children of a process. It is
// looked at once: it stays the same as long as this process lives.
var listsChildren = sync.OnceValue(func() bool {
	return unix.Access("/proc/thread-self/children", unix.R_OK) == nil
})

// childrenOf reads which children a process has, in order. The list may lack one
// when another one is collected meanwhile.
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

// ownChildren returns all children that this process has, ended ones included. It
// reads until two lists in a row are the same. A list lacks a child only when one
// that it names was collected meanwhile, and the next list does not name that one.
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

// descendants returns the arm's live processes by the lists of children. That
// there is none is proven: a child that has ended has given its own children to
// this process before it is seen to have ended, and the list is read once more.
func (s *server) descendants() []process {
	for {
		children := ownChildren()
		if list := s.treeAmong(lookAtAll(withAllBelow(children, s.group))); len(list) > 0 || slices.Equal(children, ownChildren()) {
			return list
		}
	}
}

// withAllBelow returns these processes and those of a group, with all below them.
func withAllBelow(pids []int, g group) []int {
	seen := map[int]bool{}
	var out []int
	add := func(pid int) {
		if !seen[pid] {
			seen[pid] = true
			out = append(out, pid)
		}
	}
	for _, pid := range pids {
		add(pid)
	}
	for pid := range g.pids() {
		add(pid)
	}
	for i := 0; i < len(out); i++ { // which grows
		for _, pid := range childrenOf(out[i]) {
			add(pid)
		}
	}
	return out
}
