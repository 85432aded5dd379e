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
	// lockTimeout bounds how long a new holder waits for the guard of the
	// last one, which is ending what that left: guardGrace, killTimeout, and
	// some air.
	lockTimeout = 12 * time.Second
	// lockLook is how often the lock is tried again.
	lockLook = 2 * time.Millisecond
)

// lockFolder takes the folder's lock. It is held by the holder and its guard
// alike, through one open file: as long as either lives, no other holder
// begins in that folder. Nobody else holds it, so it goes with them.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "hold.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the holder's lock: %w", err)
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(lockLook) {
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

// Occupied tells whether a holder or its guard lives in that folder, or whether
// that cannot be told.
func Occupied(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "hold.lock"))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// Settle returns when nobody writes to the journal of that folder any more, or
// a live holder does. When a holder has just been killed, its guard still
// brings in what the terminal held. It waits at most as long as that may take.
func Settle(dir string) error {
	f, err := os.Open(filepath.Join(dir, "hold.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the holder's lock: %w", err)
	}
	defer f.Close()
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(lockLook) {
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
