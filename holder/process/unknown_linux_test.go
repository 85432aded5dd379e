package process

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// This test is not parallel. While it runs, no other test in this process can open a file.
func TestAProcessIsNotDeadBecauseNobodyCouldLook(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	knownBootID.Store(nil)
	withoutDescriptors(t, func() {
		if got := Look(id); got != Unknown {
			t.Errorf("without a descriptor Look returns %s, want %s", got, Unknown)
		}
		if got := LookQuickly(id); got != Unknown {
			t.Errorf("without a descriptor LookQuickly returns %s, want %s", got, Unknown)
		}
	})
	if got := Look(id); got != Alive {
		t.Errorf("Look returns %s after that, want %s", got, Alive)
	}
}

// A child that has ended keeps its identity until its parent waits for it. Here waitid waits for
// the end without reaping the child, so the child has surely ended when the test identifies it.
func TestAnEndedChildIsIdentifiedByItsParent(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	if id, err := Identify(pid); err == nil {
		t.Errorf("Identify = %+v, want an error", id)
	}
	id, err := IdentifyOwn(pid)
	if err != nil || id.PID != pid || id.StartTime == 0 || Look(id) != Dead {
		t.Errorf("IdentifyOwn = %+v, %v; it is %s, want dead", id, err, Look(id))
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if id, err := IdentifyOwn(pid); err == nil {
		t.Errorf("after the wait, IdentifyOwn = %+v, want an error", id)
	}
}

// withoutDescriptors calls the function `do` while this process cannot open a file.
func withoutDescriptors(t *testing.T, do func()) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 3 // standard input, output and error
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}()
	if f, err := os.Open(os.DevNull); err == nil {
		f.Close()
		t.Fatal("a file could be opened")
	}
	do()
}
