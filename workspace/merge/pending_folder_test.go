package merge

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev/workspace"
)

// A kill has interrupted a merge. It must be found even if the path of the folder with its record has characters that
// are special in patterns.
func TestAnInterruptedMergeIsFoundInAnyFolder(t *testing.T) {
	t.Parallel()
	trees := workspace.Workspaces{Dir: filepath.Join(t.TempDir(), "[my] files")}
	if err := os.MkdirAll(trees.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pendingPath(trees, "/repo/.git"), []byte("not a record"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := Recover(t.Context(), trees); err != nil || len(all) != 1 || all[0].Left == "" {
		t.Errorf("Recover = %+v, %v; want one merge that it has left", all, err)
	}
}
