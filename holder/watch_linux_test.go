package holder

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

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
		for deadline := time.Now().Add(patience); w.Look() != want; time.Sleep(treePoll) {
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
	sees(Dead) // not collected yet
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
	id.StartTime++ // as of a process that had this pid before
	if w, err := NewWatch(id); err == nil {
		t.Errorf("another process than the one that was named is watched: %s", w.Look())
	}
}

func TestAHolderProvesItselfOverAConnectionThatStands(t *testing.T) {
	t.Parallel()
	s, l := start(t, "sleep 1000")
	c := dial(t, l)
	h := coleo.Handle{Arm: l.Arm, Generation: l.Generation, Nonce: l.Nonce, Holder: s.Holder, Process: s.Process}
	if blocked, err := c.Proves(h); blocked != "" || err != nil {
		t.Errorf("the holder proves %q, %v", blocked, err)
	}
	for what, change := range map[string]func(*coleo.Handle){
		"another start":   func(h *coleo.Handle) { h.Generation++ },
		"another program": func(h *coleo.Handle) { h.Process.StartTime++ },
		"another holder":  func(h *coleo.Handle) { h.Holder.PID++ },
		"another nonce":   func(h *coleo.Handle) { h.Nonce += "x" },
	} {
		other := h
		change(&other)
		if _, err := c.Proves(other); coleo.ErrorCode(err) != coleo.EUnproven {
			t.Errorf("for %s: %v, want %s", what, err, coleo.EUnproven)
		}
	}
	c.asking.Lock() // as while a long prompt is typed
	if _, err := c.Proves(h); coleo.ErrorCode(err) != coleo.EBusy {
		t.Errorf("beside another request: %v, want %s", err, coleo.EBusy)
	}
	c.asking.Unlock()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Proves(h); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Errorf("without a connection: %v, want %s", err, coleo.EUnavailable)
	}
}
