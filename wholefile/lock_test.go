package wholefile

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// Many goroutines read a number from a file and write the next one. With the lock, none of them repeats a number.
func TestOnlyOneHasTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "number")
	const goroutines, rounds = 8, 25
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range rounds {
				unlock, err := Lock(path + ".lock")
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := os.ReadFile(path)
				n, _ := strconv.Atoi(string(text))
				if err := os.WriteFile(path, []byte(strconv.Itoa(n+1)), OwnerOnly); err != nil {
					t.Error(err)
				}
				unlock()
			}
		})
	}
	all.Wait()
	if text, err := os.ReadFile(path); err != nil || string(text) != strconv.Itoa(goroutines*rounds) {
		t.Errorf("the file has the number %s, %v; want %d", text, err, goroutines*rounds)
	}
}

func TestALockInAMissingFolderIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := Lock(filepath.Join(t.TempDir(), "missing", "lock")); err == nil {
		t.Error("the lock was taken")
	}
}
