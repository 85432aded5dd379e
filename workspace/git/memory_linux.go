package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
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

	// hollowSize is the smallest size in bytes of a file that counts as hollow. Git reads a smaller file within
	// seconds.
	hollowSize = 4 << 30
	// A sparse file counts as hollow if less than 1/hollowShare of its size occupies the disk.
	hollowShare = 100
	blockSize   = 512 // the unit of st_blocks in stat(2), in bytes
)

// shell is a program of every system that has git: git itself starts filters with it.
const shell = "/bin/sh"

// startBounded starts git with bounded memory. Without the bound, git could need any amount of memory for a small
// object in a pack, or for a sparse file. A lower bound that exists already remains. newCommand makes a command from
// git's command line.
//
// If this system lets no process be traced, or if somebody traces Coleo, a shell sets the bound. The shell takes as much
// time as a short git.
func startBounded(argv []string, newCommand func(argv []string) *exec.Cmd) (*exec.Cmd, error) {
	return startWithin(memoryLimit(), canTrace(), argv, newCommand)
}

// startWithin starts git with a bound of limit bytes. If trace is false, a shell sets the bound.
func startWithin(limit uint64, trace bool, argv []string, newCommand func(argv []string) *exec.Cmd) (*exec.Cmd, error) {
	if trace {
		cmd := newCommand(argv)
		if startStopped(cmd, limit) == nil {
			return cmd, nil
		}
	}
	const unit = 1 << 10 // of ulimit, in bytes
	script := fmt.Sprintf(`ulimit -d %d 2>/dev/null; exec "$@"`, limit/unit)
	cmd := newCommand(append([]string{shell, "-c", script, "git"}, argv...))
	return cmd, cmd.Start()
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

// canTrace reports whether this process can trace a process that it starts. Some containers forbid it.
var canTrace = sync.OnceValue(func() bool {
	cmd := exec.Command(shell, "-c", "")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return startStopped(cmd, memoryLimit()) == nil && cmd.Wait() == nil
})

// startStopped starts a program that the kernel stops before its first instruction. It sets the bound of the program's
// data, and lets the program run. So the program has the bound from its beginning, and all its children inherit it.
func startStopped(cmd *exec.Cmd, limit uint64) error {
	runtime.LockOSThread() // only the thread that starts the program can let it run
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	for unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	var now unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_DATA, nil, &now) == nil {
		bound := unix.Rlimit{Cur: min(now.Cur, limit), Max: min(now.Max, limit)}
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &bound, nil) // fails only if the program has been killed
	}
	_ = unix.PtraceDetach(pid) // likewise
	return nil
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
