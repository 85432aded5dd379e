package server

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/config"
)

// A backup must contain the user's files even if the path of their folder has characters that are special in patterns.
func TestABackupOfAnyFolderHasTheUsersFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[my] files")
	s := setup.Setup{Paths: config.Paths{State: filepath.Join(dir, "state"), Config: filepath.Join(dir, "config")}}
	for _, path := range []string{filepath.Join(s.Harnesses(), "mine.toml"), filepath.Join(s.Templates(), "mine.toml")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, err := writeBackup(t.Context(), s, filepath.Join(dir, "backup.tar.gz"))
	want := []string{"config/harnesses/mine.toml", "config/templates/mine.toml"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("the backup has %q, %v; want %q", names, err, want)
	}
}
