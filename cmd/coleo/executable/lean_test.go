package executable

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheLeanHolderIsWrittenOnceAndWhole(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("COLEO_DIR", dir)
	program := []byte("#!/bin/sh\necho lean\n")
	first, err := writeLean(program)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(first).Output(); err != nil || string(out) != "lean\n" {
		t.Fatalf("run %s: %q, %v", first, out, err)
	}
	// a loss of power can leave a file that is too short, or a file of the right size that contains zeros
	for _, torn := range [][]byte{[]byte("torn"), make([]byte, len(program))} {
		if err := os.WriteFile(first, torn, 0o700); err != nil {
			t.Fatal(err)
		}
		again, err := writeLean(program)
		if raw, readErr := os.ReadFile(again); err != nil || readErr != nil || again != first ||
			!bytes.Equal(raw, program) {
			t.Fatalf("written again at %s (%v): %q, %v", again, err, raw, readErr)
		}
	}
	if other, err := writeLean(append(program, '\n')); err != nil || other == first {
		t.Fatalf("another version is at %s too (%v)", other, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "state", "bin", "*", "*")); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}
