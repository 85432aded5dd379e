package armfolder

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
)

func TestAnEarlierStartIsDeletedOnlyWhenNobodyLivesInItsFolder(t *testing.T) {
	t.Parallel()
	f, last := Of(t.TempDir(), "ada"), coleo.Handle{Arm: "ada", Generation: 3}
	for n := 1; n <= 2; n++ {
		j, err := journal.Create(holder.JournalDir(f.Start(n)))
		if err == nil {
			_, err = j.Append([]byte("some output"), time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// The test holds this lock as if the holder of the first start still ran. That holder has never proved its
	// identity, so only the lock shows that it runs.
	lock, err := os.Create(filepath.Join(f.Start(1), "hold.lock"))
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	thinned := func(want ...int) {
		t.Helper()
		if err := f.Thin(last, 1, "ada"); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, h := range f.Earlier(last) {
			got = append(got, h.Generation)
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("starts %v are kept, want %v", got, want)
		}
	}
	thinned(1)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	thinned()
}
