package armfolder

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A process that drives an arm holds a lock on a file in the arm's folder. The second attempt to take the lock
// must succeed if the first lock is released meanwhile. The third attempt must fail, because the second lock is
// not released.
func TestADeadDriverIsNoDriver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), driverFile)
	first, err := lockDriver(path)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(driverWait/4, func() { _ = first.Close() })
	second, err := lockDriver(path)
	if err != nil {
		t.Fatalf("the lock of a process that ended = %v", err)
	}
	if _, err := lockDriver(path); err == nil {
		t.Error("a lock was taken twice")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	third, err := lockDriver(path) // the next arm with the same folder has a new lock file
	if err != nil {
		t.Fatal(err)
	}
	_, _ = second.Close(), third.Close()
}
