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

// TestTerminalsAreRecordedAndHTTPIsNot: a harness with a screen can record its screens, and a
// harness without a screen cannot.
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
	if err == nil || !strings.Contains(err.Error(), "b.toml:10:") {
		t.Fatalf("error = %v, want b.toml, line 10", err)
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
		text := "name = \"mine\"\ntitle = \"" + title +
			"\"\ncommand = \"mine\"\n[keys]\nsubmit = \"ENTER\"\n[composer]\nbottom = \"cursor\"\n"
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
	before, _ := r.Get("mine")
	codex, _ := r.Get("codex")
	revision := r.Revision()
	write("\"broken")
	if h, err := r.Get("mine"); err != nil || h != before {
		t.Errorf("with a broken file get mine = %v, %v; want the last one that was right", h, err)
	}
	if err := r.Wrong("mine"); coleo.ErrorCode(err) != coleo.EInvalid ||
		!strings.Contains(err.Error(), "mine.toml:2:") || strings.Contains(err.Error(), "\n") {
		t.Errorf("what is wrong with mine is %v, want one line with the file's name and the line", err)
	}
	if r.Revision() == revision {
		t.Error("the revision does not show that a file has changed")
	}
	write("Right again")
	if h, err := r.Get("mine"); err != nil || h.Info().Title != "Right again" || r.Wrong("mine") != nil {
		t.Errorf("mended, get mine = %v, %v, %v", h, err, r.Wrong("mine"))
	}
	if h, err := r.Get("codex"); err != nil || h != codex {
		t.Errorf("codex has changed with mine: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get("mine"); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("with its file gone get mine = %v, want that it is not known", err)
	}
}

// If the user's file becomes a link that leads nowhere, the last description must stay in use, and the
// registry must report an error.
func TestALinkThatLeadsNowhereIsWrong(t *testing.T) {
	t.Parallel()
	dir, real := t.TempDir(), filepath.Join(t.TempDir(), "real.toml")
	text := "name = \"mine\"\ncommand = \"mine\"\n[keys]\nsubmit = \"ENTER\"\n[composer]\nbottom = \"cursor\"\n"
	if err := os.WriteFile(real, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(dir, "mine.toml")); err != nil {
		t.Fatal(err)
	}
	r, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, err := r.Get("mine")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	if h, err := r.Get("mine"); err != nil || h != before || r.Wrong("mine") == nil {
		t.Errorf("get mine = %v, %v, and %v is wrong with it; want the last one that was right", h, err, r.Wrong("mine"))
	}
	if _, err := New(dir, nil); err == nil || !strings.Contains(err.Error(), "mine.toml") {
		t.Errorf("a new registry = %v, want an error about the link", err)
	}
}

// A copy of a file describes the same harness. Only one of the two is used, and the user must learn which.
func TestTwoFilesOfOneHarnessAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, title := range []string{"Old", "Used"} {
		text := "name = \"mine\"\ntitle = \"" + title +
			"\"\ncommand = \"mine\"\n[keys]\nsubmit = \"ENTER\"\n[composer]\nbottom = \"cursor\"\n"
		if err := os.WriteFile(filepath.Join(dir, title+".toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(dir, nil)
	if err == nil || !strings.Contains(err.Error(), "Old.toml") || !strings.Contains(err.Error(), "Used.toml") {
		t.Errorf("New = %v, want an error that names both files", err)
	}
	h, err := r.Get("mine")
	if err != nil {
		t.Fatal(err)
	}
	path, _, err := r.Description("mine")
	if err != nil || filepath.Base(path) != h.Info().Title+".toml" {
		t.Errorf("%s is in use, and the description is in %s, %v", h.Info().Title, path, err)
	}
}

func TestAFileThatNobodyTouchedKeepsItsHarness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		text = "name = \"" + name + "\"\ntitle = \"" + text +
			"\"\ncommand = \"x\"\n[keys]\nsubmit = \"ENTER\"\n[composer]\nbottom = \"cursor\"\n"
		if err := os.WriteFile(filepath.Join(dir, name+".toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one", "One")
	write("other", "Other")
	r, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := r.Get("other")
	write("one", "One more")
	if h, err := r.Get("one"); err != nil || h.Info().Title != "One more" {
		t.Errorf("get one = %v, %v", h, err)
	}
	if h, err := r.Get("other"); err != nil || h != before {
		t.Errorf("get other = %v, %v, want what it was", h, err)
	}
}

func TestARegistryOfOneHarnessWatchesFilesToo(t *testing.T) {
	t.Parallel()
	if Of().Files() == nil {
		t.Error("it has nothing that watches files")
	}
}
