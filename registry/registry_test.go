package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

func TestBuiltInHarnessesAreValid(t *testing.T) {
	t.Parallel()
	r, err := New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range r.List() {
		h, err := r.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if i := h.Info(); i.Name != name || i.Title == "" || i.Command == "" || i.Install == "" {
			t.Errorf("info of %q is incomplete: %+v", name, i)
		}
	}
}

// TestTerminalsAreRecordedAndHTTPIsNot: whoever has no screen has no past one.
func TestTerminalsAreRecordedAndHTTPIsNot(t *testing.T) {
	t.Parallel()
	reg, err := New("", []string{"none"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range reg.List() {
		h, err := reg.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := h.(coleo.Recorder); ok != (h.Info().Transport == coleo.TransportPTY) {
			t.Errorf("%s speaks %s; that it is recorded is %v", name, h.Info().Transport, ok)
		}
	}
}

func TestAnUnknownHarnessIsAUsageError(t *testing.T) {
	t.Parallel()
	r, _ := New("", nil)
	_, err := r.Get("nope")
	if coleo.ErrorCode(err) != coleo.EInvalid || !strings.HasPrefix(err.Error(), "Unknown harness: nope") {
		t.Fatalf("get nope = %v", err)
	}
}

func TestAUsersFileAddsAHarnessAndAWrongOneIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := "name = \"mine\"\ncommand = \"mine\"\n[keys]\nsubmit = \"ENTER\"\n[composer]\nbottom = \"cursor\"\n"
	bad := good + "\n[[rule]]\nname = \"x\"\nstate = \"sleepy\"\nwhen = [{ where = \"cursor\", pattern = \"y\" }]\n"
	for name, text := range map[string]string{"a.toml": good, "b.toml": bad} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(dir, nil)
	if err == nil || !strings.Contains(err.Error(), "b.toml:9:") {
		t.Fatalf("error = %v, want b.toml, line 9", err)
	}
	if !slices.Contains(r.List(), "mine") {
		t.Fatalf("harnesses = %v, want mine among them", r.List())
	}
}

func TestAChangedFileIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get("mine"); err == nil {
		t.Fatal("mine is known before its file is there")
	}
	path := filepath.Join(dir, "mine.toml")
	write := func(title string) {
		text := "name = \"mine\"\ntitle = \"" + title + "\"\ncommand = \"mine\"\n[keys]\nsubmit = \"ENTER\"\n[composer]\nbottom = \"cursor\"\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, title := range []string{"First", "The second"} {
		write(title)
		h, err := r.Get("mine")
		if err != nil || h.Info().Title != title {
			t.Fatalf("get mine = %+v, %v; want %s", h, err, title)
		}
	}
	write("\"broken")
	if _, err := r.Get("mine"); coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "mine.toml:") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("get mine = %v, want one line with the file's name", err)
	}
	if _, err := r.Get("codex"); err != nil {
		t.Fatal(err)
	}
}
