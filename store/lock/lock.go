// Package lock lets only one process at a time open a database.
package lock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"coleo.dev"
)

const (
	// pidBytes is the number of bytes of a lock file that are read. The text of every pid is
	// shorter.
	pidBytes = 32
	// lockTime is how long Take tries while another process has the file locked, and lockLook is
	// the time between two attempts. Take must not fail at once, because Held locks the file for a
	// moment.
	lockTime = 100 * time.Millisecond
	lockLook = 5 * time.Millisecond
)

// Take creates and locks the lock file of the database at the given path. Only one process at a
// time can lock the file. The kernel releases the lock when the process ends, even if the process
// is killed. The lock file contains the process's pid, for people to read.
func Take(path string) (*os.File, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of %s: %w", path, err)
	}
	for began := time.Now(); ; time.Sleep(lockLook) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Since(began) > lockTime {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		defer f.Close()
		return nil, coleo.Errorf(coleo.EConflict, "open %s: %s has it open already", path, holderOf(f))
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

// Held reports whether a process has the database at the given path open. A killed process still
// counts until the kernel has removed it.
func Held(path string) bool {
	f, err := os.Open(path + ".lock")
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// Release releases the lock and closes the lock file. To close the file is not enough, if another
// goroutine has just forked a child. The child also has the file open until it executes its program,
// and would keep the lock.
func Release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holderOf describes the process that holds the lock, for an error message.
func holderOf(f *os.File) string {
	text, _ := io.ReadAll(io.LimitReader(f, pidBytes))
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}
