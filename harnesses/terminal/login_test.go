package terminal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/record"
)

func TestM5ALoginIsSeenAndNoValueIsTold(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("x.toml", []byte(`name = "x"
command = "x"
[launch]
credentials_env = ["MINE_", "OTHER_API_KEY", "BASE_URL"]
credentials_files = [".x/auth.json"]
[keys]
submit = "ENTER"
[composer]
bottom = "cursor"
`))
	if err != nil {
		t.Fatal(err)
	}
	h := New(spec, Hooks{}, nil, nil)
	home := t.TempDir()
	environ := []string{"HOME=" + home, "MINE_API_KEY=secret1", "MINE_REGION=secret2", "OTHER_API_KEY=",
		"BASE_URL=secret3", "FOREIGN_API_KEY=secret4"}
	if got := h.Login(environ); !got.LoggedIn || !slices.Equal(got.Env, []string{"MINE_API_KEY"}) || got.Files != nil {
		t.Errorf("with a key: %+v", got)
	}
	if got := h.Login(environ[:1]); got.LoggedIn {
		t.Errorf("without anything: %+v", got)
	}
	if err := os.MkdirAll(filepath.Join(home, ".x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".x/auth.json"), []byte("secret5"), 0o000); err != nil {
		t.Fatal(err)
	}
	got := h.Login(environ)
	if !slices.Equal(got.Files, []string{".x/auth.json"}) {
		t.Errorf("with a file: %+v", got)
	}
	if text, _ := json.Marshal(got); strings.Contains(string(text), "secret") {
		t.Errorf("a value is told: %s", text)
	}
}

// A variable can name the folder of the agent CLI. Its login is then not below HOME.
func TestALoginInANamedFolderIsSeen(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("x.toml", []byte(`name = "x"
command = "x"
[launch]
credentials_files = [".x/auth.json", ".x.json"]
[keys]
submit = "ENTER"
[composer]
bottom = "cursor"
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ folder, file string }{
		"in place of a folder": {".x", "auth.json"},
		"in place of HOME":     {"", ".x/auth.json"},
	} {
		h := New(spec, Hooks{Record: record.Source{Folder: c.folder, FolderEnv: "X_HOME"}}, nil, nil)
		home, named := t.TempDir(), t.TempDir()
		environ := []string{"X_HOME=" + named, "HOME=" + home}
		if got := h.Login(environ); got.LoggedIn {
			t.Errorf("%s, without a file: %+v", name, got)
		}
		path := filepath.Join(named, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := h.Login(environ); !slices.Equal(got.Files, []string{path}) || !got.LoggedIn {
			t.Errorf("%s: %+v, want the file %s", name, got, path)
		}
	}
}
