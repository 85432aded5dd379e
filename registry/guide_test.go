package registry

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")

// The pieces of the guide are one harness that a reader can begin with.
func TestTheGuideDescribesAValidHarness(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/new-harness.md")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, m := range tomlBlock.FindAllStringSubmatch(string(raw), -1) {
		text.WriteString(m[1] + "\n")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.toml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.Get("mine")
	if err != nil {
		t.Fatal(err)
	}
	if i := h.Info(); i.Command != "mine" || !i.Capabilities.Interrupt || !i.Capabilities.Approval || i.Capabilities.Compact {
		t.Errorf("the guide's harness is %+v", i)
	}
}
