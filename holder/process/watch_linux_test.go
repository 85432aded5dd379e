package process

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds every wait of these tests. A wait ends as soon as its condition is true.
const patience = 20 * time.Second

func TestAWatchSeesHowAProcessIs(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWatch(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	sees := func(want Liveness) {
		t.Helper()
		for deadline := time.Now().Add(patience); w.Look() != want; time.Sleep(PollEvery) {
			if time.Now().After(deadline) {
				t.Fatalf("the watch says %s, want %s", w.Look(), want)
			}
		}
	}
	sees(Alive)
	_ = cmd.Process.Signal(unix.SIGSTOP)
	sees(Stopped)
	_ = cmd.Process.Signal(unix.SIGCONT)
	sees(Alive)
	_ = cmd.Process.Kill()
	sees(Dead) // the process has ended, and the test has not waited for it yet
	_ = cmd.Wait()
	sees(Dead)
	if again, err := NewWatch(id); err == nil {
		t.Errorf("a process that has ended is watched: %s", again.Look())
	}
}

func TestAWatchIsOfTheProcessThatWasNamed(t *testing.T) {
	t.Parallel()
	id, err := Identify(unix.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	id.StartTime++ // the start time of an earlier process with this pid
	if w, err := NewWatch(id); err == nil {
		t.Errorf("another process than the one that was named is watched: %s", w.Look())
	}
}
