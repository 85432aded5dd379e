package launch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// toolSpec puts the allowed tools into an argument, and the servers into a file of HOME.
var toolSpec = strings.Replace(plainSpec, "[keys]", `[capabilities]
mcp = true
[launch.permission]
ask = ""
[[launch.part]]
if = "{{if .AllowedTools}}yes{{end}}"
args = ["--allow", "{{range .AllowedTools}}{{.Server}}.{{.Tool}} {{end}}"]
[[launch.part]]
if = "{{.Hermetic}}"
[launch.part.files]
"x.json" = '[{{range .MCPServers}}{{json .Command}}{{end}}]'
[keys]`, 1)

func TestOnlyTheAllowedToolsAreAllowed(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("x.toml", []byte(toolSpec))
	if err != nil {
		t.Fatal(err)
	}
	plan := func(p coleo.Profile, servers ...coleo.MCPServer) ([]string, error) {
		launch, err := Plan(spec, &coleo.SpawnConfig{Arm: "a", Nonce: "n", Dir: t.TempDir(), Workdir: t.TempDir(),
			Binary: "/bin/true", Profile: p, Home: t.TempDir(), MCPServers: servers}, nil)
		return launch.Argv, err
	}
	theirs := coleo.MCPServer{Name: "theirs", Command: "/bin/other"}
	ours := coleo.MCPServer{Name: "coleo", Command: `/a "b"/coleo`, Allowed: []string{"ask_user", "heartbeat"}}
	argv, err := plan(coleo.ProfileHermetic, theirs, ours)
	if err != nil || !slices.Contains(argv, "coleo.ask_user coleo.heartbeat ") {
		t.Errorf("the command line is %q (%v)", argv, err)
	}
	if argv, err := plan(coleo.ProfileHermetic, theirs); err != nil || slices.Contains(argv, "--allow") {
		t.Errorf("without our tools it is %q (%v)", argv, err)
	}
	if _, err := plan(coleo.ProfileUser, theirs, ours); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("where the agent CLI does not learn of our tools: %v, want %s", err, coleo.EUnsupported)
	}
	if _, err := plan(coleo.ProfileUser, theirs); err != nil {
		t.Errorf("a server of the user: %v", err)
	}
}

// serverSpec puts the servers into a settings file of HOME, as Gemini CLI needs it.
var serverSpec = strings.Replace(plainSpec, "[keys]", `[capabilities]
mcp = true
[launch.permission]
ask = ""
[[launch.part]]
if = "{{.Hermetic}}"
[launch.part.files]
".x/x.json" = '''{"a":1,"mcp":{{"{"}}{{range $i, $m := .MCPServers}}{{if $i}},{{end}}
{{json $m.Name}}:{"command":{{json $m.Command}},"args":{{json $m.Args}}}{{end}}}}'''
[keys]`, 1)

// The next arm in the same HOME, for example one that continues the conversation of another arm, has a door of its
// own. The settings file must name this door, and must keep what the agent CLI has changed.
func TestAHomeOfAnotherArmNamesTheServerOfThisArm(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("x.toml", []byte(serverSpec))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	path := filepath.Join(home, ".x/x.json")
	start := func(door string) error {
		server := coleo.MCPServer{Name: "coleo", Command: "/a/coleo", Args: []string{"--door", door},
			Allowed: []string{"ask_user"}}
		_, err := Plan(spec, &coleo.SpawnConfig{Arm: "a", Nonce: "n", Dir: t.TempDir(), Workdir: t.TempDir(),
			Binary: "/bin/true", Profile: coleo.ProfileHermetic, Home: home, MCPServers: []coleo.MCPServer{server}}, nil)
		return err
	}
	if err := start("/one"); err != nil {
		t.Fatal(err)
	}
	const changed = `{"a":2,"mcp":{"coleo":{"command":"/a/coleo","args":["--door","/one"]},"mine":{}},"b":3}`
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start("/two"); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != strings.Replace(changed, "/one", "/two", 1) {
		t.Errorf("the file is %s", raw)
	}

	outside := filepath.Join(t.TempDir(), "outside.json")
	if err := os.WriteFile(outside, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func() error{
		"is a link out of HOME":      func() error { return os.Symlink(outside, path) },
		"is not JSON":                func() error { return os.WriteFile(path, []byte(`{"mcp":`), 0o600) },
		"is a pipe":                  func() error { return syscall.Mkfifo(path, 0o600) },
		"is a link to nothing":       func() error { return os.Symlink(outside+"2", path) },
		"has another form":           func() error { return os.WriteFile(path, []byte(`{"mcp":[]}`), 0o600) },
		"has a folder in its place ": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := errors.Join(os.Remove(path), prepare()); err != nil {
			t.Fatal(err)
		}
		if err := start("/three"); coleo.ErrorCode(err) != coleo.EUnsupported {
			t.Errorf("a settings file that %s: %v, want %s", name, err, coleo.EUnsupported)
		}
	}
	if raw, _ := os.ReadFile(outside); string(raw) != changed {
		t.Errorf("a file outside of HOME is now %s", raw)
	}
}
