package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// procEntry describes one process in /proc.
type procEntry struct {
	pid, parent int
	zombie      bool
	own         func() bool // reads /proc again and reports whether the process still belongs to the arm
}

// allProcesses returns the entries of all processes of the machine.
func allProcesses() []procEntry {
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
	return readProcesses(pids)
}

// readProcesses reads the entries of the processes with the given pids. It leaves out processes
// that no longer exist.
func readProcesses(pids []int) []procEntry {
	out := make([]procEntry, 0, len(pids))
	var buf [statRoom]byte
	for _, pid := range pids {
		if p, err := readProcessInto(pid, buf[:]); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func readProcess(pid int) (procEntry, error) {
	var buf [statRoom]byte
	return readProcessInto(pid, buf[:])
}

// statRoom is the size of the buffer for /proc/PID/stat, in bytes. It is enough for the process's
// name, which has at most 64 bytes, and for the next two fields: the state and the parent.
const statRoom = 256

// readProcessInto reads the state and the parent of the process pid, using the caller's buffer. It
// must be fast: without the kernel's lists of children, Coleo reads all processes of the machine
// each time that an arm ends. A machine with 500 arms has thousands of processes.
func readProcessInto(pid int, buf []byte) (procEntry, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return procEntry{}, fmt.Errorf("examine process %d: %w", pid, err)
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd)
	behindName := bytes.LastIndexByte(buf[:max(n, 0)], ')')
	if err != nil || behindName < 0 || n < behindName+5 {
		return procEntry{}, fmt.Errorf("examine process %d: %w", pid, errors.Join(err, unix.ESRCH))
	}
	state := buf[behindName+2]
	digits, _, _ := bytes.Cut(buf[behindName+4:n], []byte(" "))
	parent, err := strconv.Atoi(string(digits))
	return procEntry{pid: pid, parent: parent, zombie: state == 'Z'}, err
}

// withDescendants returns the live processes for which isRoot returns true, and all live processes
// below them. A parent comes before its children.
//
// Before a caller signals a process, it must call the function in the field `own`, which reads the
// process again. The function returns true if the process is still below another process of the
// result, or if stillIn returns true for the process.
func withDescendants(all []procEntry, isRoot, stillIn func(procEntry) bool) []procEntry {
	in := map[int]bool{}
	var out []procEntry
	add := func(p procEntry, own func() bool) {
		in[p.pid] = true
		if p.own = own; !p.zombie {
			out = append(out, p)
		}
	}
	for _, p := range all {
		if isRoot(p) {
			pid := p.pid
			add(p, func() bool { now, err := readProcess(pid); return err == nil && stillIn(now) })
		}
	}
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if in[p.parent] && !in[p.pid] {
				pid := p.pid
				add(p, func() bool {
					now, err := readProcess(pid)
					return err == nil && (in[now.parent] || stillIn(now))
				})
				grew = true
			}
		}
	}
	return out
}

// pidsOf returns the pids of the given processes.
func pidsOf(list []procEntry) []int {
	var out []int
	for _, p := range list {
		out = append(out, p.pid)
	}
	return out
}
