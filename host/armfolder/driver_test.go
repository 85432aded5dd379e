package armfolder

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestADeadDriverIsNoDriver: a lock whose process is gone does not count. A lock that a process
// keeps does count.
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
	third, err := lockDriver(path) // of the next arm with the same folder
	if err != nil {
		t.Fatal(err)
	}
	_, _ = second.Close(), third.Close()
}
