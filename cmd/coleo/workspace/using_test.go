package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/workspace"
)

// The arm of a worktree is gone, and its successor works there. The worktree must count as used even if the path of the
// state folder has characters that are special in patterns. Otherwise 'coleo workspace prune' would remove it.
func TestAWorktreeIsUsedWhateverTheStateFolderIsCalled(t *testing.T) {
	t.Parallel()
	var s setup.Setup
	s.State = filepath.Join(t.TempDir(), "[my] files")
	w := workspace.Workspace{Name: "fix", Path: filepath.Join(s.State, "tree")}
	folder := filepath.Join(s.ArmFolders(), "arm-2")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	record := `{"record": {"Name": "next", "Handle": {"workdir": "` + w.Path + `"}}}`
	if err := os.WriteFile(filepath.Join(folder, "arm.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Arm = "arm-1"
	if got := armUsing(s, w); got != "next" {
		t.Errorf("the worktree is used by %q, want the successor", got)
	}
}
