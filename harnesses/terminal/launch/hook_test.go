package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
)

// If there is a hook program, the command line must name Coleo's hook, unless it would replace a hook of the
// user. Without a hook program, the command line must not name the hook.
func TestTheHookIsPassedOnByArgv(t *testing.T) {
	t.Parallel()
	const parts = casttest.PlainSpec + `
[launch]
[launch.permission]
ask = ""
[[launch.part]]
if = "{{if .Hook}}yes{{end}}"
args = ["{{json .Hook.Argv}}", "{{range .Hook.Events}}{{.}} {{end}}"]
`
	spec, err := rules.ParseSpec("bench", []byte(strings.Replace(parts, `strip = '</?paste>'`,
		`unless = { folder_env = "OWN", folder = ".own", file = "config", pattern = '(?m)^notify' }`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), `it's "here"`)
	if err := os.MkdirAll(filepath.Join(dir, ".own"), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plan := func(program []string, environ ...string) []string {
		c := coleo.SpawnConfig{Arm: "a", Nonce: "n", Dir: dir, Workdir: dir, Binary: self,
			Environ: append(environ, "HOME="+dir)}
		launch, err := Plan(spec, &c, program)
		if err != nil {
			t.Fatal(err)
		}
		return launch.Argv[1:]
	}
	file := strings.ReplaceAll(hook.Path(dir), `"`, `\"`)
	want := []string{`["` + self + `","hook","` + file + `"]`, "Prompt Tool Ask Stop Both "}
	if got := plan([]string{self, "hook"}); !slices.Equal(got, want) {
		t.Errorf("argv %q, want %q", got, want)
	}
	for what, program := range map[string][]string{"no program": nil,
		"one that is not there": {filepath.Join(dir, "nope"), "hook"}} {
		if got := plan(program); len(got) != 0 {
			t.Errorf("%s: argv %q", what, got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".own", "config"), []byte("notify = [\"mine\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := plan([]string{self, "hook"}); len(got) != 0 {
		t.Errorf("the user's own hook would be replaced by %q", got)
	}
	spec.Hook.UserHook.Key = "notify"
	want[0] = `["` + self + `","hook","` + file + `","--then","mine"]`
	if got := plan([]string{self, "hook"}); !slices.Equal(got, want) {
		t.Errorf("argv %q, want %q: ours starts the user's", got, want)
	}
	spec.Hook.UserHook.Key = "other" // the user's hook is in another key
	if got := plan([]string{self, "hook"}); len(got) != 0 {
		t.Errorf("a hook of the user's that cannot be read would be replaced by %q", got)
	}
	if got := plan([]string{self, "hook"}, "OWN="+t.TempDir()); len(got) == 0 {
		t.Error("another folder holds no hook of the user's")
	}
}

func TestOnlyAProgramOfOursIsAHook(t *testing.T) {
	t.Parallel()
	for _, hold := range [][]string{nil, {"none"}, {"/x/test", "hold-test"}, {"coleo", "hold", "--stdin"}} {
		if got := HookCommand(hold); got != nil {
			t.Errorf("%q: %q", hold, got)
		}
	}
	if got := HookCommand([]string{"/x/coleo", "hold", "--stdin"}); !slices.Equal(got,
		[]string{"/x/coleo", hook.Verb}) {
		t.Errorf("%q", got)
	}
}

// A user can name the agent CLI's folder by a variable that only this arm has (--env). Then the user's hook is in that
// folder, and so is the file with the trusted folders.
func TestAVariableOfTheArmNamesTheUsersFolder(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("bench", []byte(strings.Replace(casttest.PlainSpec+`
[launch]
[launch.trust]
file = "trust.json"
folder_env = "OWN"
path = ["trusted"]
[launch.permission]
ask = ""
[[launch.part]]
if = "{{if .Hook}}yes{{end}}"
args = ["{{json .Hook.Argv}}"]
`, `strip = '</?paste>'`,
		`unless = { folder_env = "OWN", folder = ".own", file = "config", pattern = '(?m)^notify', key = "notify" }`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range []coleo.Profile{coleo.ProfileUser, coleo.ProfileHermetic} {
		home, usual, own := t.TempDir(), t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(own, "config"), []byte("notify = [\"mine\"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := coleo.SpawnConfig{Arm: "a", Nonce: "n", Dir: t.TempDir(), Workdir: t.TempDir(), Binary: self, TrustWorkdir: true,
			Profile: profile, Home: home, Environ: []string{"HOME=" + home, "OWN=" + usual}, Env: map[string]string{"OWN": own}}
		launch, err := Plan(spec, &c, []string{self, "hook"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(launch.Argv, " "); !strings.Contains(got, `"--then","mine"`) {
			t.Errorf("%s: the command line %s leaves the user's hook out", profile, got)
		}
		for folder, want := range map[string]bool{own: profile == coleo.ProfileUser, usual: false, home: false} {
			if _, err := os.Stat(filepath.Join(folder, "trust.json")); (err == nil) != want {
				t.Errorf("%s: the trust in %s: %v, want a file: %t", profile, folder, err, want)
			}
		}
	}
}
