package main

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

// TestAShellThatWorksOnAFullRowIsNotIdle: a command that ends at or near the end of a row
// leaves a row above the cursor. That row looks as if it continued.
func TestAShellThatWorksOnAFullRowIsNotIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.path("work-sh")
	w.check(os.Mkdir(dir, 0o700))
	w.must("arm", "spawn", "-n", "sh", "-w", dir, "--harness", "generic")
	for _, length := range []int{12, 116, 117, 118, 119, 120, 121} { // with the prompt two columns more, of 120
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
