package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"coleo.dev/holder/process"
)

//platform:linux Memory of git = at most 4 GiB, and at most half of the machine's memory
//platform:macos Memory of git = no bound
//platform:linux A huge file without data in place of a file that git reads = git is ended after some seconds
//platform:macos A huge file without data in place of a file that git reads = git reads it to its end

const (
	// mostMemory is how many bytes of memory one git process may use. Mapped packs do not count, so repositories
	// of any size work.
	mostMemory = 4 << 30
	// memoryShare is the part of the machine's memory that one git process may use: one half.
	memoryShare = 2

	// hollowSize is the smallest size in bytes of a file that counts as hollow. A hollow file is a sparse file with
	// which an arm could stop git for hours. Git reads a smaller file within seconds.
	hollowSize = 4 << 30
	// A large sparse file counts as hollow if less than 1/hollowShare of its size occupies the disk: see hollowSize.
	hollowShare = 100
	blockSize   = 512 // the unit of st_blocks in stat(2), in bytes
)

// shell exists on every system that has git, because git itself starts filters with it.
const shell = "/bin/sh"

// startBounded starts git with bounded memory. Without the bound, git could need any amount of memory for a small
// object in a pack, or for a sparse file. If git inherits a lower bound, that bound remains. `newCommand` makes a
// command from git's command line.
//
// If this system does not let a process bound another one, a shell sets the bound and then becomes git. To start the
// shell takes as long as a short git command.
func startBounded(argv []string, newCommand func(argv []string) *exec.Cmd) (*exec.Cmd, error) {
	return startWithin(memoryLimit(), canBound(), argv, newCommand)
}

// startWithin starts git with a bound of `limit` bytes. If `outside` is true, Coleo sets the bound as soon as
// git runs. Otherwise a shell sets the bound before git starts.
//
// startWithin must not start git as a stopped process under ptrace. If Coleo were killed during such a start,
// git could remain stopped for ever, and would keep the lock of its worktree.
func startWithin(limit uint64, outside bool, argv []string,
	newCommand func(argv []string) *exec.Cmd) (*exec.Cmd, error) {
	if !outside {
		const unit = 1 << 10 // of ulimit, in bytes
		script := fmt.Sprintf(`ulimit -d %d 2>/dev/null; exec "$@"`, limit/unit)
		argv = append([]string{shell, "-c", script, "git"}, argv...)
	}
	cmd := newCommand(argv)
	if err := cmd.Start(); err != nil || !outside {
		return cmd, err
	}
	if boundAll(cmd.Process.Pid, limit) {
		return cmd, nil
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails only if git has ended
	_ = cmd.Wait()                                      // fails because git was killed
	return nil, errTooMuchMemory
}

// memoryLimit returns how many bytes of memory one git process may use.
func memoryLimit() uint64 {
	limit := uint64(mostMemory)
	var machine syscall.Sysinfo_t
	if syscall.Sysinfo(&machine) == nil {
		limit = min(limit, uint64(machine.Totalram)*uint64(machine.Unit)/memoryShare)
	}
	return limit
}

// canBound reports whether this process can bound the memory of a process that it starts. Some containers forbid it.
var canBound = sync.OnceValue(func() bool {
	cmd := exec.Command(shell, "-c", "read line")
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return false
	}
	bounded := boundData(cmd.Process.Pid, memoryLimit()) == nil
	in.Close()
	_ = cmd.Wait() // the shell fails, because `read` finds the end of the input
	return bounded
})

// boundAll bounds the data of a process group's first process, and of the children that it started before the bound.
// Each later child inherits the bound. boundAll returns false if one of these processes already has more data.
func boundAll(first int, limit uint64) bool {
	within := true
	for pids := []int{first}; len(pids) > 0; pids = pids[1:] {
		pid := pids[0]
		if group, err := unix.Getpgid(pid); err != nil || group != first {
			continue // the process has ended, or it has left git's process group
		}
		_ = boundData(pid, limit) // fails only if the process has ended
		within = within && dataOf(pid) <= limit
		pids = append(pids, process.Children(pid)...)
	}
	return within
}

// boundData limits the data of a process to `limit` bytes. If the process already has a lower bound, that bound
// remains.
func boundData(pid int, limit uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: min(now.Cur, limit), Max: min(now.Max, limit)}, nil)
}

// dataOf returns how many bytes of data a process has, or 0 if the process has ended.
func dataOf(pid int) uint64 {
	const dataField = 5 // the place in statm of the data's size, in pages; see proc_pid_statm(5)
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(raw))
	if err != nil || len(fields) <= dataField {
		return 0
	}
	pages, err := strconv.ParseUint(fields[dataField], 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// hollowFile returns the path of a hollow file that a process has open, or "" if there is none. A hollow file is a
// sparse file of many gigabytes. It costs an arm nothing, but git would read it for hours.
func hollowFile(pid int) string {
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return ""
	}
	for _, fd := range open {
		info, err := os.Stat(fd)
		if err != nil || !info.Mode().IsRegular() || info.Size() < hollowSize {
			continue
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if path, err := os.Readlink(fd); err == nil && ok && stat.Blocks < info.Size()/blockSize/hollowShare {
			return path
		}
	}
	return ""
}
