package armfolder

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"coleo.dev"
)

// driverFile is a file in an arm's folder. Only the process that has locked this file may start,
// read, type into or end the arm. The kernel releases the lock when the process ends. The file
// contains the pid of the process, for messages.
const driverFile = "driver.lock"

const (
	// driverWait is how long a process waits for the lock. A killed process keeps its locks until
	// the kernel has removed it, which takes milliseconds.
	driverWait = time.Second
	// driverLook is the time between two attempts to lock the file.
	driverLook = 5 * time.Millisecond
)

// Lock is this process's lock on an arm's folder. The zero value is not locked.
type Lock struct {
	mu       sync.Mutex
	file     *os.File // the locked file; nil if this process does not have the lock
	inAction bool     // true while this process starts, attaches to, ends or moves the arm
}

// Take locks an arm's folder, unless this process already has the lock. It returns EConflict if
// another process has it. `name` is the arm's name, for the error.
func (l *Lock) Take(f Folder, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		return nil
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("lock the folder of arm %s: %w", name, err)
	}
	file, err := lockDriver(f.File(driverFile))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return coleo.Errorf(coleo.EConflict, "nothing was done: %s drives arm %s", driverOf(f), name)
	}
	if err != nil {
		return fmt.Errorf("lock the folder of arm %s: %w", name, err)
	}
	l.file = file
	return nil
}

// Release releases the lock and returns true. It releases nothing and returns false in three cases:
//
//   - The function `needed` returns true.
//   - An action of the arm is running.
//   - This process does not have the lock.
//
// Just before it releases the lock, Release calls the function `last`. While `needed` and `last`
// run, no other goroutine of this process can take the lock.
func (l *Lock) Release(needed func() bool, last func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if needed() || l.inAction || l.file == nil {
		return false
	}
	last()
	// Unlock the file explicitly. After Close alone it can stay locked, because a child that
	// another goroutine has just forked still has the file open.
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	_ = l.file.Close()
	l.file = nil
	return true
}

// SetInAction records whether an action of the arm is running.
func (l *Lock) SetInAction(yes bool) {
	l.mu.Lock()
	l.inAction = yes
	l.mu.Unlock()
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

// sameFile reports whether an open file is still the file at path. It returns false if the arm was
// removed in the meantime, because the lock file is then missing or new.
func sameFile(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(mine, now)
}

// driverOf describes the process that has the lock on an arm's folder. The result is part of a
// message.
func driverOf(f Folder) string {
	const pidBytes = 32 // the text of every pid is shorter
	text, err := os.ReadFile(f.File(driverFile))
	if pid := strings.TrimSpace(string(text[:min(len(text), pidBytes)])); err == nil && pid != "" {
		return "process " + pid
	}
	return "another process"
}
