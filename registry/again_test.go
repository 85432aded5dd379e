package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
)

// The message says how to repair the permissions of the folder. After the repair, the file itself is unchanged.
func TestAFileThatCouldNotBeReadIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "name = \"mine\"\ncommand = \"mine\"\n[keys]\nsubmit = \"ENTER\"\n[composer]\nbottom = \"cursor\"\n"
	if err := os.WriteFile(filepath.Join(dir, "mine.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	r, err := New(dir, nil)
	if coleo.ErrorCode(err) != coleo.EForbidden || !strings.Contains(err.Error(), "chmod go-w") {
		t.Fatalf("error = %v, want how to repair the folder", err)
	}
	revision := r.Revision()
	if again := r.Revision(); again != revision {
		t.Errorf("nothing has changed, and the revision went from %d to %d", revision, again)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get("mine"); err != nil {
		t.Errorf("after the repair get mine = %v", err)
	}
	if r.Revision() == revision {
		t.Error("the revision does not show that a file was read")
	}
}
