package process

//platform:linux Identity of a process = the pid, the start time and the boot

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

// pidfsMagic is the magic number of pidfs, the file system of pidfds since Linux 6.9. On this file
// system, each process has its own inode number until the next boot.
const pidfsMagic = 0x50494446

// These are the positions of fields in /proc/PID/stat. Position 0 is the first field after the
// command's name.
const (
	statState     = 0
	statParent    = 1
	statStartTime = 19
)

// knownBootID is the boot id, or nil before the first successful read. The boot id
// cannot change while this process lives.
var knownBootID atomic.Pointer[string]

func bootID() (string, error) {
	if known := knownBootID.Load(); known != nil {
		return *known, nil
	}
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(raw))
	knownBootID.Store(&id)
	return id, nil
}

// identify returns the identity of a process that has not ended.
func identify(pid int) (coleo.Identity, error) {
	fields, err := statFields(pid)
	if err != nil {
		return coleo.Identity{}, err
	}
	if len(fields) <= statState || fields[statState] == "Z" {
		return coleo.Identity{}, unix.ESRCH
	}
	return identityOf(pid, fields)
}

// identifyAny returns the identity of a process that may have ended, if its parent has not waited
// for it yet.
func identifyAny(pid int) (coleo.Identity, error) {
	fields, err := statFields(pid)
	if err != nil {
		return coleo.Identity{}, err
	}
	return identityOf(pid, fields)
}

// identityOf returns the identity of the process pid with the given fields of its stat file.
func identityOf(pid int, fields []string) (coleo.Identity, error) {
	boot, err := bootID()
	if err != nil {
		return coleo.Identity{}, err
	}
	if len(fields) <= statStartTime {
		return coleo.Identity{}, unix.ESRCH
	}
	start, err := strconv.ParseUint(fields[statStartTime], 10, 64)
	if err != nil {
		return coleo.Identity{}, err
	}
	inode, err := pidfdInode(pid)
	if err != nil {
		return coleo.Identity{}, err
	}
	return coleo.Identity{PID: pid, BootID: boot, StartTime: start, PidfdInode: inode}, nil
}

// pidfdInode returns the inode number of a pidfd of the process pid. It returns 0 if this kernel
// does not give each process its own inode number. It returns an error if it could not read the
// number this time.
func pidfdInode(pid int) (uint64, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case nil:
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ESRCH:
		return 0, err
	default: // there are no pidfds, because Linux is older than 5.3 or seccomp forbids them
		return 0, nil
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || fs.Type != pidfsMagic {
		return 0, nil
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0, nil
	}
	return st.Ino, nil
}

// statFields returns the fields of /proc/PID/stat after the command's name. It looks for the last
// closing bracket, because the name itself can contain spaces and brackets.
func statFields(pid int) ([]string, error) {
	raw, err := readFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	end := strings.LastIndexByte(string(raw), ')')
	if end < 0 {
		return nil, fmt.Errorf("unreadable stat %q", raw)
	}
	return strings.Fields(string(raw[end+1:])), nil
}

// isStopped reports whether a signal or a tracer has stopped the process pid.
func isStopped(pid int) bool {
	fields, err := statFields(pid)
	return err == nil && len(fields) > statState && (fields[statState] == "T" || fields[statState] == "t")
}

func lookQuickly(id coleo.Identity) Liveness {
	boot, err := bootID()
	if err == nil && (id.PID <= 0 || boot != id.BootID) {
		return Dead
	}
	fields, err := statFields(id.PID)
	if err != nil {
		return withoutLook(err)
	}
	if len(fields) <= statStartTime || fields[statStartTime] != strconv.FormatUint(id.StartTime, 10) {
		return Dead
	}
	return livenessOf(fields[statState][0])
}

// livenessOf returns the Liveness for a state letter of /proc/PID/stat.
func livenessOf(state byte) Liveness {
	switch state {
	case 'Z', 'X':
		return Dead
	case 'T', 't':
		return Stopped
	}
	return Alive
}
