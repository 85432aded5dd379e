package main

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

// TestAShellThatWorksOnAFullRowIsNotIdle types commands that end at or near the end of a row. The
// row above the cursor then looks as if it continued in the cursor's row.
func TestAShellThatWorksOnAFullRowIsNotIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.path("work-sh")
	w.check(os.Mkdir(dir, 0o700))
	w.must("arm", "spawn", "-n", "sh", "-w", dir, "--harness", "generic")
	// These are the lengths of the commands. The prompt adds two columns, and the terminal has 120.
	for _, length := range []int{12, 116, 117, 118, 119, 120, 121} {
		command := "sleep 600 #"
		w.must("arm", "prompt", "sh", command+strings.Repeat("x", length-len(command)))
		w.wait("sh", coleo.Processing)
		if e := w.fails(11, "arm", "prompt", "sh", "echo too early"); e.Code != coleo.EBusy {
			t.Errorf("behind a command of %d columns a prompt = %+v, want %s", length, e, coleo.EBusy)
		}
		w.must("arm", "interrupt", "sh")
		w.wait("sh", coleo.Idle)
	}
}
