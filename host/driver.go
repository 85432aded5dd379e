package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"coleo.dev"
)

// driverFile is a file in an arm's folder. Only the process that has locked this file
// is allowed to start, read, type into or end the arm. The kernel releases the lock
// when the process ends. The file contains the process's pid, for messages.
const driverFile = "driver.lock"

const (
	// driverWait is how long a process waits for the lock. A killed process keeps its locks until
	// the kernel has removed the process, which takes milliseconds.
	driverWait = time.Second
	// driverLook is the time between two attempts to lock the file.
	driverLook = 5 * time.Millisecond
)

// driving is this process's lock on an arm's folder.
type driving struct {
	mu    sync.Mutex
	file  *os.File // the locked file; nil if this process does not have the lock
	doing bool     // a start, an attach, an end or a move runs
}

// drive locks the arm's folder, unless this process already has the lock. It returns EConflict if
// another process has the lock. Call rest to release the lock.
func (a *arm) drive() error {
	a.driving.mu.Lock()
	defer a.driving.mu.Unlock()
	if a.driving.file != nil {
		return nil
	}
	if err := os.MkdirAll(a.root(), 0o700); err != nil {
		return fmt.Errorf("lock the folder of arm %s: %w", a.name(), err)
	}
	f, err := lockDriver(filepath.Join(a.root(), driverFile))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return coleo.Errorf(coleo.EConflict, "nothing was done: %s drives arm %s", driverOf(a.root()), a.name())
	}
	if err != nil {
		return fmt.Errorf("lock the folder of arm %s: %w", a.name(), err)
	}
	a.driving.file = f
	return nil
}

// driveOwn is like drive, but also checks that the arm's folder names this host. It returns
// ENotFound if the folder names another host. Another host can have taken the arm since this
// process last read the folder.
func (a *arm) driveOwn() error {
	if err := a.drive(); err != nil {
		return err
	}
	kept, err := readKept(a.host.Dir, a.record.ID)
	if err == nil && !a.host.owns(kept.Host) {
		return coleo.Errorf(coleo.ENotFound, "no arm called %q on this host: it belongs to %s now", a.name(), kept.Host)
	}
	return nil
}

// unlockIfUnused releases the lock on the arm's folder if this process no longer needs it. The
// process needs the lock while it has a session of the arm or waits for the reply of a holder. It
// also needs the lock while an action of the arm runs.
func (a *arm) unlockIfUnused() {
	if a.release() {
		a.restTools()
	}
}

// release releases the lock on the arm's folder and closes the arm's door. It then returns true. If
// this process still needs the lock or does not have it, release changes nothing and returns false.
func (a *arm) release() bool {
	a.driving.mu.Lock()
	defer a.driving.mu.Unlock()
	a.mu.Lock()
	needed := a.session != nil || a.silent
	a.mu.Unlock()
	if needed || a.driving.doing || a.driving.file == nil {
		return false
	}
	a.closeDoor()
	// Closing the file alone can leave the file locked. A child that another goroutine
	// has just forked also has the file open, until the child executes its program.
	_ = syscall.Flock(int(a.driving.file.Fd()), syscall.LOCK_UN)
	_ = a.driving.file.Close()
	a.driving.file = nil
	return true
}

// doing records whether an action of the arm is running.
func (a *arm) doing(yes bool) {
	a.driving.mu.Lock()
	a.driving.doing = yes
	a.driving.mu.Unlock()
}

// lockDriver locks the file at path and writes the pid of this process into it. It
// returns EWOULDBLOCK if another process keeps the lock for longer than driverWait.
func lockDriver(path string) (*os.File, error) {
	for began := time.Now(); ; time.Sleep(driverLook) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && sameFile(f, path) {
			if err = f.Truncate(0); err == nil {
				_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
			}
			if err == nil {
				return f, nil
			}
		}
		_ = f.Close()
		if err != nil && (!errors.Is(err, syscall.EWOULDBLOCK) || time.Since(began) > driverWait) {
			return nil, err
		}
	}
}

// sameFile reports whether an open file is still the file at path. If the arm was removed in the
// meantime, the lock file is missing or is a new file.
func sameFile(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(mine, now)
}

// driverOf describes the process that has the lock on an arm's folder, for a message.
func driverOf(root string) string {
	const pidBytes = 32 // the text of every pid is shorter
	text, err := os.ReadFile(filepath.Join(root, driverFile))
	if pid := strings.TrimSpace(string(text[:min(len(text), pidBytes)])); err == nil && pid != "" {
		return "process " + pid
	}
	return "another process"
}

// owns reports whether an arm belongs to this host, if the arm's folder names the given host. It
// does not compare the ids of host agents, because such an id can have changed. This is enough,
// because a state folder has at most two hosts: one host agent, and host local.
func (h *Host) owns(named string) bool {
	return (named == coleo.LocalHost) == (h.ID == coleo.LocalHost)
}

// disowned reports whether the folder of an arm names the other host. If the folder has no readable
// record, disowned returns false, and the record in the database applies.
func (h *Host) disowned(id string) bool {
	kept, err := readKept(h.Dir, id)
	return err == nil && !h.owns(kept.Host)
}
