package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A holder finds its arm's processes in the kernel's lists of child processes. The holder is the
// reaper of all processes below it, so each process of the arm is below the holder. The cost
// depends only on the number of processes of the arm, not of the machine.

// listsChildren reports whether this kernel lists the children of each process. It checks this only
// once.
var listsChildren = sync.OnceValue(func() bool {
	return unix.Access("/proc/thread-self/children", unix.R_OK) == nil
})

// Children returns the children of the process pid, in ascending order. It can miss a child if
// another child is reaped at the same time.
func Children(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []int
	for _, t := range tasks { // each thread of the process has its own list of children
		raw, err := readFile(dir + "/" + t.Name() + "/children")
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

// ownChildren returns all children of this process, including those that have ended. It reads the
// list until two consecutive lists are equal. A list misses a child only if another child was
// reaped during the read. The next list then lacks the reaped child, so the two lists differ.
func ownChildren() []int {
	self := os.Getpid()
	list := Children(self)
	for {
		next := Children(self)
		if slices.Equal(list, next) {
			return list
		}
		list = next
	}
}

// descendants finds the arm's live processes through the lists of children. If it returns no
// process, the arm certainly has none. To be certain, it reads the list of this process's children
// once more. If a child has ended since the first read, its children are now children of this
// process, so the lists differ. descendants then begins again.
func (t *Tree) descendants() []procEntry {
	for {
		children := ownChildren()
		if list := t.among(readProcesses(withAllBelow(children, t.Group))); len(list) > 0 ||
			slices.Equal(children, ownChildren()) {
			return list
		}
	}
}

// withAllBelow returns the given pids, the pids of the processes in the group g, and the pids of
// all processes below these.
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
	for i := 0; i < len(out); i++ { // out grows during the loop
		for _, pid := range Children(out[i]) {
			add(pid)
		}
	}
	return out
}
