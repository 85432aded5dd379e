package workspace

import (
	"strings"
	"testing"

	"coleo.dev/workspace"
)

// TestM28ARefIsPrintedAsOneWordForAShell: an arm can make refs, and a ref may contain these characters.
func TestM28ARefIsPrintedAsOneWordForAShell(t *testing.T) {
	t.Parallel()
	const ref = "refs/coleo/kept/fix/20260101T000000Z-2;id"
	done := workspace.Removal{With: []workspace.Removal{{Workspace: workspace.Workspace{Path: "/trees/lib"}, Kept: ref}}}
	if text := removedText("fix", done); !strings.Contains(text, "coleo workspace restore '"+ref+"'") {
		t.Errorf("the removal says %s", text)
	}
}
