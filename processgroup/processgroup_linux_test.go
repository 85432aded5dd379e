package processgroup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A process that has made a session of its own does not end with its process group. Wait must return although
// this process still runs.
func TestAProcessThatLeavesTheGroupDoesNotHoldWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(t.TempDir(), "pid")
	running, _ := opened(t, ctx, "setsid sh -c 'echo $$ > "+file+"; echo >&3; exec sleep 1000'", 10*time.Millisecond)
	t.Cleanup(func() {
		raw, err := os.ReadFile(file)
		pid, wrong := strconv.Atoi(string(bytes.TrimSpace(raw)))
		if err = errors.Join(err, wrong); err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
	})
	cancel()
	if err := bounded(t, "Wait returns", running.Wait); err == nil {
		t.Error("Wait = nil, want an error")
	}
}
