package wholefile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock waits until no other process or goroutine has the lock file at `path` locked, and locks it. It creates the file
// if it is missing. The kernel releases the lock of a killed process. A lock file next to a file that several processes
// change keeps each of them from losing the change of another one.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, OwnerOnly)
	if err == nil {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() {
		// unlock explicitly, because a child that another goroutine has just forked may still have the file open
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		_ = f.Close()
	}, nil
}
