package launch

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// refusingSpec refuses the setting "rows", which can be in a flag, in a variable or in a file. It
// does not refuse the setting "bell".
const refusingSpec = plainSpec + `
[launch.permission]
ask = ""
[launch]
credentials_env = ["X_ROWS", "X_HOME", "X_USER", "X_FILE"]
[launch.trust]
file = "trust.json"
path = ["trusted"]
[[launch.part]]
[launch.part.files]
".x/settings.json" = '{"ui":{"tips":false},"model":"m"}'
".x/more.toml" = "[last]\nkept = 1\n"
[[setting]]
name = "rows"
doc = "ENTER begins a new row."
files = { ".x/settings.json" = '{"ui":{"rows":true}}' }
refused = "ENTER would not submit a prompt: turn the rows off."
[[setting.seen]]
arg = '(?m)^--rows$'
[[setting.seen]]
env = "X_ROWS"
pattern = '^1$'
[[setting.seen]]
folder = ".x"
folder_env = "X_HOME"
home_env = "X_USER"
file = "settings.json"
pattern = '"rows"\s*:\s*true'
[[setting.seen]]
file = "x.json"
parents = true
pattern = '"rows"\s*:\s*true'
[[setting.seen]]
file = "/nowhere/of/the/machine.json"
file_env = "X_FILE"
pattern = '"rows"\s*:\s*true'
[[setting]]
name = "bell"
doc = "It rings."
args = ["--bell"]
[[setting.seen]]
arg = '(?m)^--bell$'
`

func refusing(t *testing.T) *rules.Spec {
	t.Helper()
	spec, err := rules.ParseSpec("x.toml", []byte(refusingSpec))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestASettingThatCannotWorkIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	with := `{"ui": {"rows": true}}`
	for name, c := range map[string]struct {
		args    []string
		environ []string
		files   map[string]string // relative to the test's folder, which contains home, work and other
		where   string            // "" if the start is not refused
	}{
		"no setting":                           {},
		"a setting that works":                 {args: []string{"--bell"}},
		"by an argument":                       {args: []string{"-a", "--rows"}, where: "its arguments"},
		"an argument that only begins like it": {args: []string{"--rowsmore"}},
		"by a variable":                        {environ: []string{"X_ROWS=1"}, where: "the environment variable X_ROWS"},
		"a variable with another value":        {environ: []string{"X_ROWS=0"}},
		"by a file in HOME": {files: map[string]string{"home/.x/settings.json": with},
			where: "home/.x/settings.json"},
		"by a file in the work folder": {files: map[string]string{"work/.x/settings.json": with},
			where: "work/.x/settings.json"},
		"by a file in a folder that a variable names": {environ: []string{"X_HOME=OTHER"},
			files: map[string]string{"other/settings.json": with}, where: "other/settings.json"},
		"a file in HOME that a variable replaces": {environ: []string{"X_HOME=OTHER"},
			files: map[string]string{"home/.x/settings.json": with}},
		"by a file of the machine": {environ: []string{"X_FILE=OTHER/y.json"},
			files: map[string]string{"other/y.json": with}, where: "other/y.json"},
		"by a file that a variable names in the work folder": {environ: []string{"X_FILE=y.json"},
			files: map[string]string{"work/y.json": with}, where: "work/y.json"},
		"by a file in another HOME": {environ: []string{"X_USER=OTHER"},
			files: map[string]string{"other/.x/settings.json": with}, where: "other/.x/settings.json"},
		"by a file at the root of the repository": {files: map[string]string{"x.json": with, ".git/HEAD": ""},
			where: "x.json"},
		"a file above the repository": {files: map[string]string{"x.json": with, "work/.git/HEAD": ""}},
		"a file above the work folder that only a project has": {
			files: map[string]string{".x/settings.json": with, ".git/HEAD": ""}},
		"a file with another value": {files: map[string]string{"home/.x/settings.json": `{"rows":false}`}},
	} {
		dir := t.TempDir()
		for _, folder := range []string{"home", "work", "other"} {
			mustWrite(t, filepath.Join(dir, folder, "x"), "")
		}
		for path, text := range c.files {
			mustWrite(t, filepath.Join(dir, path), text)
		}
		environ := []string{"HOME=" + filepath.Join(dir, "home")}
		for _, v := range c.environ {
			environ = append(environ, strings.Replace(v, "OTHER", filepath.Join(dir, "other"), 1))
		}
		_, err := Plan(refusing(t), &coleo.SpawnConfig{Arm: "a", Nonce: "n", Dir: t.TempDir(), Binary: "/bin/true",
			Workdir: filepath.Join(dir, "work"), Environ: environ, Args: c.args, TrustWorkdir: true}, nil)
		switch {
		case c.where == "" && err != nil:
			t.Errorf("%s: %v, want a start", name, err)
		case c.where != "" && (coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), c.where) ||
			!strings.Contains(err.Error(), "ENTER would not submit a prompt")):
			t.Errorf("%s: %v, want it refused because of %s", name, err, c.where)
		}
		if _, err := os.Stat(filepath.Join(dir, "home", "trust.json")); (err == nil) != (c.where == "") {
			t.Errorf("%s: the file of trusted folders: %v, want it written only at a start", name, err)
		}
	}
}

// mustWrite writes a file, and makes its folder.
func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The files of a setting must be written in addition to the files of the harness itself.
func TestAFileOfTwoPartsHasBoth(t *testing.T) {
	t.Parallel()
	spec, home := refusing(t), t.TempDir()
	spec.Settings = nil
	spec.Launch.Parts = append(spec.Launch.Parts, rules.Part{Files: map[string]string{
		".x/settings.json": `{"ui":{"rows":true},"model":"n"}`, ".x/more.toml": "first = 1\n[last]\nmore = " +
			"2\n", ".x/own": "own"}})
	if _, err := Plan(spec, &coleo.SpawnConfig{Arm: "a", Nonce: "n", Dir: t.TempDir(), Workdir: t.TempDir(),
		Binary: "/bin/true", Profile: coleo.ProfileHermetic, Home: home}, nil); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"settings.json", "more.toml", "own"} {
		raw, err := os.ReadFile(filepath.Join(home, ".x", name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(raw)
	}
	want := map[string]string{"settings.json": `{"model":"n","ui":{"rows":true,"tips":false}}`,
		"more.toml": "first = 1\n\n[last]\nkept = 1\nmore = 2\n", "own": "own"}
	if !maps.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
}
