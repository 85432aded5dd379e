package setup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coleo.dev/config"
)

// Coleo must find the agent CLIs that it has installed even if the path of its folder has characters that are special
// in patterns.
func TestInstalledAgentCLIsAreFoundInAnyFolder(t *testing.T) {
	t.Parallel()
	s := Setup{Paths: config.Paths{Data: filepath.Join(t.TempDir(), "[my] files")}}
	bin := filepath.Join(s.Paths.Agents(), "aider", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := s.AgentPath(); !slices.Contains(got, bin) {
		t.Errorf("the folders of agent CLIs are %q, want %s among them", got, bin)
	}
}
