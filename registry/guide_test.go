package registry

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")

// readGuide returns the guide in two parts: the text before its worked example, and the example.
func readGuide(t *testing.T) (guide, example string) {
	t.Helper()
	raw, err := os.ReadFile("../docs/new-harness.md")
	if err != nil {
		t.Fatal(err)
	}
	guide, example, ok := strings.Cut(string(raw), "\n## 10. ")
	if !ok {
		t.Fatal("the guide has no section 10")
	}
	return guide, example
}

// Put together, the pieces of TOML in the guide must form a valid harness.
func TestTheGuideDescribesAValidHarness(t *testing.T) {
	t.Parallel()
	guide, _ := readGuide(t)
	var text strings.Builder
	for _, m := range tomlBlock.FindAllStringSubmatch(guide, -1) {
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
	if i := h.Info(); i.Command != "mine" || !i.Capabilities.Interrupt || !i.Capabilities.Approval ||
		i.Capabilities.Compact {
		t.Errorf("the guide's harness is %+v", i)
	}
}

// The worked example must be a valid harness, and the parts that the guide shows must be in its
// file.
func TestTheGuidesExampleIsItsFile(t *testing.T) {
	t.Parallel()
	const dir = "../docs/examples"
	raw, err := os.ReadFile(filepath.Join(dir, "grok.toml"))
	if err != nil {
		t.Fatal(err)
	}
	_, example := readGuide(t)
	blocks := tomlBlock.FindAllStringSubmatch(example, -1)
	if len(blocks) < 4 {
		t.Errorf("the guide shows %d pieces of the example, want 4 at least", len(blocks))
	}
	for _, m := range blocks {
		if !strings.Contains(string(raw), m[1]) {
			t.Errorf("the example's file does not hold what the guide shows:\n%s", m[1])
		}
	}
	r, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.Get("grok")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := claimed(t,
		h.Info().Capabilities),
		"approval command_execution file_editing interrupt model_flag multi_turn streaming"; got != want {
		t.Errorf("the example claims %q, want %q", got, want)
	}
}
