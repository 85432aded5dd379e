package launch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// plainSpec is the shortest valid description.
const plainSpec = `name = "x"
command = "x"
[keys]
submit = "ENTER"
[composer]
bottom = "^-+$"
[[rule]]
name = "composer"
state = "idle"
when = [{ where = "composer", pattern = ".*" }]
`

// The agent CLI must receive the name of a folder unchanged, whatever characters the name contains.
func TestAFolderWithBlanksAndQuotesIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), `a "b" 'c' {{.Model}} $d\e`)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	spec, err := rules.ParseSpec("x.toml", []byte(strings.Replace(plainSpec, "[keys]",
		"[launch.permission]\nask = \"\"\n[[launch.part]]\nargs = [\"--in\", \"{{.Workdir}}\", "+
			"\"--json={{json .Workdir}}\"]\nenv = { WORK = \"{{.Workdir}}\" }\n[keys]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	launch, err := Plan(spec, &coleo.SpawnConfig{Arm: "a", Nonce: "n", Dir: t.TempDir(), Workdir: folder,
		Binary: "/bin/true"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, _ := json.Marshal(folder)
	want := []string{"--in", folder, `--json=` + string(asJSON)}
	if got := launch.Argv[len(launch.Argv)-3:]; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the command line ends with %q, want %q", got, want)
	}
	if env := strings.Join(launch.Env, "\n"); !strings.Contains(env, "WORK="+folder) {
		t.Errorf("the environment is %q, want the folder as it is", launch.Env)
	}
}
