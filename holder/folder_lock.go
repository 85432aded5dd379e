package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

const (
	// lockTimeout is how long a new holder waits for the guard of the previous holder. (A guard is a
	// second process that cleans up if its holder dies.) That guard first ends the processes that the
	// previous holder left behind. So lockTimeout is the sum of guardGrace, process.KillTimeout and 5 s
	// as a margin.
	lockTimeout = 12 * time.Second
	// lockPoll and maxLockPoll are the shortest and the longest time between two attempts to take the lock.
	lockPoll    = 2 * time.Millisecond
	maxLockPoll = 20 * time.Millisecond
)

// untilNextTry returns how long a caller that has already waited for the lock waits before its next
// attempt. The result is a tenth of `waited`, but at least lockPoll and at most maxLockPoll.
func untilNextTry(waited time.Duration) time.Duration {
	return min(max(waited/10, lockPoll), maxLockPoll)
}

// lockFolder takes the lock of the folder dir. A holder and its guard share the lock through one
// open file. The lock is released when both have ended, because no other process has this file
// open. Until then, no other holder can start in the folder.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "hold.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the holder's lock: %w", err)
	}
	for began := time.Now(); ; time.Sleep(untilNextTry(time.Since(began))) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		if time.Since(began) > lockTimeout {
			f.Close()
			return nil, coleo.Errorf(coleo.EConflict, "a holder in %s has not ended yet", dir)
		}
	}
}

// Occupied reports whether a holder or its guard still uses the folder dir. If it cannot find this
// out, it returns true.
func Occupied(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "hold.lock"))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// AwaitGuard waits until the guard of a dead holder has ended. The guard, a second process, first
// writes the last output of the terminal to the journal in dir. AwaitGuard also returns if a live
// holder answers in dir. The error is ETimeout if the guard has not ended after lockTimeout, which
// is 12 s.
func AwaitGuard(dir string) error {
	f, err := os.Open(filepath.Join(dir, "hold.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the holder's lock: %w", err)
	}
	defer f.Close()
	for began := time.Now(); ; time.Sleep(untilNextTry(time.Since(began))) {
		if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
			return nil
		}
		if conn, err := connect(dir, ""); err == nil {
			conn.Close()
			return nil
		}
		if time.Since(began) > lockTimeout {
			return coleo.Errorf(coleo.ETimeout, "the guard in %s has not ended yet", dir)
		}
	}
}
