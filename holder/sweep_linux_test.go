package holder

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
)

func TestSweepFindsWhatADeadHolderLeft(t *testing.T) {
	t.Parallel()
	s, l := start(t, "setsid sh -c 'trap \"\" HUP; echo up; sleep 1000' & wait")
	output(t, dial(t, l), 0, "up")
	if err := syscall.Kill(s.Holder.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if left := process.Sweep(l.Arm); len(left) != 0 || len(process.Marked(l.Arm)) != 0 {
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
	t.Cleanup(func() { // runs before the cleanup of the first start, which waits until nobody uses the folder
		if process.Same(second.Holder) {
			_ = syscall.Kill(second.Holder.PID, syscall.SIGKILL)
		}
	})
}

// TestTheEndOfOneStartLeavesANewerOneAlone ends the older of two starts of an arm in several ways. One way is
// an order to its holder. Another one is a sweep, which ends the processes that a dead holder has left. The
// newer start must keep running.
func TestTheEndOfOneStartLeavesANewerOneAlone(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(t *testing.T, older Status, l Launch){
		"its holder is killed, and swept": func(t *testing.T, older Status, l Launch) {
			if err := syscall.Kill(older.Holder.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := AwaitGuard(l.Dir); err != nil { // returns when the guard has ended
				t.Fatal(err)
			}
			if left := process.SweepStarts(l.Arm, func(generation int, _ string) bool {
				return generation == l.Generation
			}); len(left) != 0 {
				t.Errorf("sweep left %v", left)
			}
		},
		"it is ended over a connection that has just broken": func(t *testing.T, older Status, l Launch) {
			client := dial(t, l)
			if err := syscall.Kill(older.Holder.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := client.End(l.Arm, 0); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			older, l := start(t, "echo up; sleep 1000")
			output(t, dial(t, l), 0, "up")
			next := l
			next.Dir, next.Generation, next.Nonce = t.TempDir(), l.Generation+1, "another"
			newer, err := Start(t.Context(), holdCommand(), next)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = dial(t, next).Stop(0) })
			end(t, older, l)
			if process.Look(older.Process) != process.Dead {
				t.Error("the older start goes on")
			}
			if process.Look(newer.Process) != process.Alive {
				t.Error("the newer start was ended as well")
			}
			if got := process.MarkedFrom(l.Arm, next.Generation); len(got) == 0 {
				t.Error("the newer start is not found by its mark")
			}
		})
	}
}

// TestCloseWaitsForTheAnswerToAStop closes the client while Stop still waits for a child of the
// program. Stop must still return the answer.
func TestCloseWaitsForTheAnswerToAStop(t *testing.T) {
	t.Parallel()
	s, l := start(t, "setsid sh -c 'trap \"\" HUP TERM; echo up; sleep 1000' & wait")
	c := dial(t, l)
	output(t, c, 0, "up")
	stopped := make(chan error, 1)
	go func() {
		left, err := c.Stop(time.Second) // the child ignores TERM, so Stop waits for the grace time
		if len(left) > 0 {
			err = errors.Join(err, fmt.Errorf("processes %v are left", left))
		}
		stopped <- err
	}()
	for deadline := time.Now().Add(patience); process.Look(s.Process) != process.Dead; {
		if time.Now().After(deadline) {
			t.Fatal("the program goes on")
		}
		time.Sleep(time.Millisecond) // between two checks
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop beside a close = %v, want the holder's answer", err)
	}
}
