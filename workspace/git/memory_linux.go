package git

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

// boundedMemory returns a command line that runs argv with bounded memory. Without the bound, git could need any
// amount of memory for a small object in a pack, or for a sparse file. A lower bound that exists already remains.
func boundedMemory(argv []string) []string {
	limit := uint64(mostMemory)
	var machine syscall.Sysinfo_t
	if syscall.Sysinfo(&machine) == nil {
		limit = min(limit, uint64(machine.Totalram)*uint64(machine.Unit)/memoryShare)
	}
	const unit = 1 << 10 // of ulimit, in bytes
	script := fmt.Sprintf(`ulimit -d %d 2>/dev/null; exec "$@"`, limit/unit)
	return append([]string{shell, "-c", script, "git"}, argv...)
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
