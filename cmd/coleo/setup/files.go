package setup

import (
	"fmt"
	"os"
	"syscall"

	"coleo.dev/api/signin"
)

// Lock waits until the lock at path is free, and then takes the lock. The returned function
// releases the lock.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// WriteFile writes a file that only its owner can read. If there is an error, it
// changes nothing.
func WriteFile(path string, data []byte) error {
	if err := signin.WriteFile(path, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
