package launch

import (
	"slices"
	"strings"
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
