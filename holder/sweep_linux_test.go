package holder

import (
	"syscall"
	"testing"

	"coleo.dev"
)

func TestSweepFindsWhatADeadHolderLeft(t *testing.T) {
	t.Parallel()
	s, l := start(t, "setsid sh -c 'trap \"\" HUP; echo up; sleep 1000' & wait")
	output(t, dial(t, l), 0, "up")
	if err := syscall.Kill(s.Holder.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if left := Sweep(l.Arm); len(left) != 0 || len(markedTree(l.Arm)) != 0 {
		t.Fatalf("sweep left %v", left)
	}
	if _, err := Dial(l.Dir, l.Nonce); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Fatalf("dial at the dead holder's socket = %v, want %s", err, coleo.EUnavailable)
	}
	again := l
	again.Argv = []string{"/bin/sh", "-c", "exit 0"}
	second, err := Start(t.Context(), holdCommand(), again)
	if err != nil {
		t.Fatalf("start over a stale socket: %v", err)
	}
	t.Cleanup(func() { // before the first one's, which settles the folder
		if SameProcess(second.Holder) {
			_ = syscall.Kill(second.Holder.PID, syscall.SIGKILL)
		}
	})
}
