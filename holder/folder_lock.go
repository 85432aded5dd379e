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
	// lockTimeout is how long a new holder waits for the guard of the last holder. That
	// guard ends what the last holder left behind. lockTimeout is the sum of guardGrace
	// and process.KillTimeout, and a margin.
	lockTimeout = 12 * time.Second
	// lockPoll is the time between two attempts to take the lock.
	lockPoll = 2 * time.Millisecond
)

// lockFolder takes the folder's lock. The holder and its guard both hold the lock
// through one open file. So no other holder starts in the folder while one of the two
// lives. No other process holds the lock, so the lock is released when both have ended.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "hold.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the holder's lock: %w", err)
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(lockPoll) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		if time.Now().After(deadline) {
			f.Close()
			return nil, coleo.Errorf(coleo.EConflict, "a holder in %s has not ended yet", dir)
		}
	}
}

// Occupied reports whether a holder or its guard lives in the folder dir. It also
// returns true if this cannot be determined.
func Occupied(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "hold.lock"))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// Settle returns when no guard writes to the journal of the folder any longer, or when
// a live holder does. If a holder was just killed, its guard still writes the last
// output of the terminal to the journal. The error is ETimeout if the guard has not
// ended after lockTimeout, which is 12 s.
func Settle(dir string) error {
	f, err := os.Open(filepath.Join(dir, "hold.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the holder's lock: %w", err)
	}
	defer f.Close()
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(lockPoll) {
		if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
			return nil
		}
		if conn, err := connect(dir, ""); err == nil {
			conn.Close()
			return nil
		}
		if time.Now().After(deadline) {
			return coleo.Errorf(coleo.ETimeout, "the guard in %s has not ended yet", dir)
		}
	}
}
