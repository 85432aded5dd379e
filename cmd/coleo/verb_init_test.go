package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"coleo.dev/config"
)

func TestInitWritesACommentedFileAndNeverOverwrites(t *testing.T) {
	t.Parallel()
	w := newFolder(t, "version = 1\n")
	t.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	w.env = append(w.env, "PATH="+w.path("bin"), "COLEO_AGENTS=")
	mine := w.read("config/config.toml")
	if out := w.must("init"); !strings.Contains(out, "was not changed") || w.read("config/config.toml") != mine {
		t.Errorf("init where there is a file: %s\nthe file is now\n%s", out, w.read("config/config.toml"))
	}
	w.check(os.Remove(w.path("config/config.toml")))
	w.check(link(w.path("bin/coleo"), w.path("bin/claude")))
	out := decode[initialised](w, "init")
	if !out.Made || out.File != w.path("config/config.toml") || w.read("config/config.toml") != string(firstConfig) {
		t.Errorf("init made %+v", out)
	}
	found := map[string]foundAgent{}
	for _, a := range out.Agents {
		found[a.Harness] = a
	}
	if a := found["claude-code"]; a.Path != w.path("bin/claude") || a.Install != "" {
		t.Errorf("Claude Code: %+v", a)
	}
	if a := found["codex"]; a.Path != "" || !strings.Contains(a.Install, "npm install") {
		t.Errorf("Codex: %+v", a)
	}
	if _, err := os.Stat(w.path("state/serve.db")); err == nil {
		t.Error("init started serve")
	}
}

// On a new machine, the folder of config.toml does not exist yet. init must make it.
func TestInitMakesTheFolderOfItsFile(t *testing.T) {
	t.Parallel()
	w := newFolder(t, "")
	t.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	w.check(os.RemoveAll(w.path("config")))
	if out := w.must("init"); !strings.Contains(out, "Written: "+w.path("config/config.toml")) {
		t.Errorf("init without a folder says %s", out)
	}
	info, err := os.Stat(w.path("config"))
	if err != nil || info.Mode().Perm() != 0o700 || w.read("config/config.toml") != string(firstConfig) {
		t.Errorf("the folder is %v, %v", info, err)
	}
}

func TestHarnessListShowsWhatIsInstalled(t *testing.T) {
	t.Parallel()
	w := newFolder(t, "")
	t.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	w.env = append(w.env, "PATH="+w.path("bin"), "COLEO_AGENTS=")
	out := w.must("harness", "list")
	for _, row := range []string{`(?m)^NAME +AGENT CLI +INSTALLED`, `(?m)^fake  .*  yes`, `(?m)^codex +\S+ +no `} {
		if !regexp.MustCompile(row).MatchString(out) {
			t.Errorf("no row %s in\n%s", row, out)
		}
	}
}

// The config.toml that init writes must contain each key, and the values in its comments must be
// valid.
func TestTheFileOfInitHasEachKey(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/config.toml"
	whole := regexp.MustCompile(`(?m)^#([a-z_]+ = |\[\[)`).ReplaceAllString(string(firstConfig), "$1")
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.ReadSettings(path); err != nil {
		t.Errorf("without its comments, the file is wrong: %v", err)
	}
	checkHasEachKey(t, "the file", whole)
}

// The config.toml in the handbook must also contain each key and be valid.
func TestTheFileInTheHandbookHasEachKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "This is `config.toml`:\n\n```toml\n")
	text, _, _ = strings.Cut(text, "```")
	path := t.TempDir() + "/config.toml"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.ReadSettings(path); err != nil {
		t.Errorf("the file in docs/cli.md is wrong: %v", err)
	}
	checkHasEachKey(t, "docs/cli.md", "\n"+text)
}

// checkHasEachKey checks that the text of a config.toml contains each key and each table.
func checkHasEachKey(t *testing.T, name, text string) {
	t.Helper()
	var check func(of reflect.Type, table string)
	check = func(of reflect.Type, table string) {
		for i := range of.NumField() {
			f := of.Field(i)
			key, want := f.Tag.Get("toml"), "\n"
			switch kind := f.Type.Kind(); {
			case kind == reflect.Struct:
				want += "[" + table + key + "]\n"
				check(f.Type, table+key+".")
			case kind == reflect.Map:
				want += "[" + table + key + "]\n"
			case kind == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
				want += "[[" + table + key + "]]\n"
				check(f.Type.Elem(), table+key+".")
			default:
				want += key + " = "
			}
			if !strings.Contains(text, strings.TrimSuffix(want, "\n")) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
	check(reflect.TypeFor[config.Settings](), "")
}
