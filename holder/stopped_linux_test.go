package holder

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/holder/process"
)

func TestAHolderThatWasStoppedTypesNothingLate(t *testing.T) {
	t.Parallel()
	s, l := start(t, "stty -echo; echo ready; cat")
	c := dial(t, l)
	output(t, c, 0, "ready\r\n")
	if err := syscall.Kill(s.Holder.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return allThreadsStopped(t, s.Holder.PID) })
	_, err := c.Write(Write{ID: "late", Kind: WriteKeys, Data: []byte("late\n")})
	if coleo.ErrorCode(err) != coleo.ETimeout || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("keys for a holder that is stopped: %v", err)
	}
	if process.Look(s.Holder) != process.Stopped {
		t.Error("the holder does not look stopped")
	}
	process.Wake(s.Holder)
	for _, w := range []struct {
		id        string
		duplicate bool
	}{{"one", false}, {"two", false}, {"one", true}} { // each write must have its own answer, not the previous one
		wrote, err := c.Write(Write{ID: w.id, Kind: WriteKeys, Data: []byte(w.id + "\n")})
		if err != nil || wrote.Duplicate != w.duplicate || wrote.Applied == w.duplicate {
			t.Errorf("%s: %+v, %v", w.id, wrote, err)
		}
	}
	if got := output(t, c, 0, "two\r\n"); strings.Contains(got, "late") {
		t.Errorf("the keys were typed later: %q", got)
	}
}

// allThreadsStopped reports whether all threads of a process are stopped.
func allThreadsStopped(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, thread.Name()))
		if err != nil || !strings.Contains(string(stat), ") T ") {
			return false
		}
	}
	return true
}
