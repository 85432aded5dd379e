package workspace

import (
	"testing"

	"coleo.dev"
)

// A kept worktree whose manifest is too large could never be restored. So Coleo must neither keep nor remove this
// worktree.
func TestAManifestThatCouldNotBeReadIsNotWritten(t *testing.T) {
	t.Parallel()
	k := &keptContent{files: []file{{entry: entry{Area: areaWork, Path: []byte("a file")}}}}
	whole, err := k.manifest(mostManifest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.manifest(len(whole)); err != nil {
		t.Errorf("a manifest that is just small enough: %v", err)
	}
	if _, err := k.manifest(len(whole) - 1); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a manifest that is too large: %v", err)
	}
}
