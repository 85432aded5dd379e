package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
)

// owned writes a settings file in a new folder.
func owned(t *testing.T) (dir, path string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "config")
	path = filepath.Join(dir, "config.toml")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`notify = "true"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

func TestSettingsThatOthersCanWriteAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, folder fs.FileMode
		want         coleo.Code
	}{
		"its owner alone":       {0o600, 0o700, ""},
		"others may read":       {0o644, 0o755, ""},
		"the group may write":   {0o664, 0o755, coleo.EForbidden},
		"the world may write":   {0o646, 0o755, coleo.EForbidden},
		"the folder's group":    {0o600, 0o775, coleo.EForbidden},
		"everybody, the folder": {0o600, 0o1777, coleo.EForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, path := owned(t)
			if err := os.Chmod(path, c.file); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, c.folder); err != nil {
				t.Fatal(err)
			}
			s, err := ReadSettings(path)
			if coleo.ErrorCode(err) != c.want {
				t.Fatalf("ReadSettings = %v, want code %q", err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), "chmod go-w") || strings.Contains(err.Error(), "\n") ||
				s.Notify != "") {
				t.Errorf("ReadSettings = %+v, %v", s, err)
			}
		})
	}
}

func TestSettingsThatAreNoFileAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	_, path := owned(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(path); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("a pipe in place of the settings = %v, want forbidden", err)
	}
}

func TestSettingsOfAnotherUserAreRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	const nobody = 65534
	_, path := owned(t)
	if err := os.Chown(path, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(path); coleo.ErrorCode(err) != coleo.EForbidden ||
		!strings.Contains(err.Error(), "chown") {
		t.Errorf("settings of another user = %v, want forbidden", err)
	}
}

func TestALinkToSettingsOfTheUserIsFollowed(t *testing.T) {
	t.Parallel()
	_, real := owned(t)
	dir := filepath.Join(t.TempDir(), "linked")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.toml")
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadSettings(path); err != nil || s.Notify != "true" {
		t.Errorf("ReadSettings = %+v, %v", s, err)
	}
}

// A link that leads nowhere must not count as a missing file, because the user has settings, such as budgets.
func TestALinkToMissingSettingsIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for link, target := range map[string]string{"config.toml": "gone.toml", "folder": "gone"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"config.toml", "folder/config.toml", "folder/more/config.toml"} {
		s, err := ReadSettings(filepath.Join(dir, path))
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "leads to nothing") {
			t.Errorf("%s: ReadSettings = %+v, %v, want an error", path, s, err)
		}
	}
	if _, err := ReadSettings(filepath.Join(dir, "none/config.toml")); err != nil {
		t.Errorf("without a file: ReadSettings = %v", err)
	}
}

func TestFoldersThatOthersCanListAreClosed(t *testing.T) {
	t.Parallel()
	p := Paths{State: filepath.Join(t.TempDir(), "state")}
	for range 2 {
		if err := p.Ensure(); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{p.State, p.Logs()} {
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %v (%v), want 0700", dir, info.Mode(), err)
			}
			if err := os.Chmod(dir, 0o775); err != nil {
				t.Fatal(err)
			}
		}
	}
}
