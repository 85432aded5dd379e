package reading

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "make docs/policy-commands.md anew")

// judgedHarnesses maps a harness to whether its agent CLI reports the whole command before it asks
// for approval.
var judgedHarnesses = map[string]string{"claudecode": "yes", "opencode": "yes, over HTTP"}

const recordedHead = `# What the preset "read" saves

This page is made by ` + "`go test ./policy/reading -run Recorded -update`" + `.

This page lists the commands that the model has called in the recorded work of agent CLIs. For each
command, the page says what the [preset](cli.md#policies) ` + "`read`" + ` decides in bash. The model in the
recordings is the scripted model. So the page shows how the preset judges commands, and not how often
people's agents run them.

Some agent CLIs do not report a command before they ask about it. The preset cannot decide there: you
must answer.

`

// TestRecordedCommandsAreOnThePage judges the recorded commands and writes the page of results. The
// committed page must be the same.
func TestRecordedCommandsAreOnThePage(t *testing.T) {
	w := newTree(t).Remembering() // nothing changes its files
	files, err := filepath.Glob("../../harnesses/*/testdata/*.calls.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded calls: %v", err)
	}
	commands := map[string][]string{}
	for _, path := range files {
		harness := filepath.Base(filepath.Dir(filepath.Dir(path)))
		commands[harness] = append(commands[harness], commandsOf(t, path)...)
	}
	var names []string
	for name := range commands {
		slices.Sort(commands[name])
		commands[name] = slices.Compact(commands[name])
		names = append(names, name)
	}
	slices.Sort(names)
	var table, list strings.Builder
	table.WriteString("| package | commands | allowed | share | reported before the agent CLI asks |\n" +
		"|---|---|---|---|---|\n")
	for _, name := range names {
		allows := 0
		fmt.Fprintf(&list, "\n## %s\n\n| command | decision | why |\n|---|---|---|\n", name)
		for _, command := range commands[name] {
			verdict, why := "allow", ""
			if err := w.bash(command); err != nil {
				verdict, why = "ask", strings.ReplaceAll(err.Error(), w.Root, "…")
			} else {
				allows++
			}
			fmt.Fprintf(&list, "| `%s` | %s | %s |\n", cell(command), verdict, cell(why))
		}
		reported := "no"
		if how := judgedHarnesses[name]; how != "" {
			reported = how
		}
		fmt.Fprintf(&table, "| `%s` | %d | %d | %d %% | %s |\n", name, len(commands[name]), allows,
			100*allows/max(1, len(commands[name])), reported)
	}
	const page = "../../docs/policy-commands.md"
	want := recordedHead + table.String() + list.String()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("%s is not what the recordings say (%v): make it anew with -update", page, err)
	}
}

// cell returns the text in a form that fits into one cell of a table.
func cell(text string) string {
	return strings.NewReplacer("\n", " ␊ ", "|", `\|`).Replace(text)
}

// commandsOf returns the command lines in a file of recorded calls.
func commandsOf(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var call struct {
			Arguments string `json:"arguments"`
		}
		var input struct {
			Command string `json:"command"`
			Cmd     string `json:"cmd"`
		}
		if json.Unmarshal(lines.Bytes(), &call) != nil || json.Unmarshal([]byte(call.Arguments), &input) != nil {
			continue // the call has no command
		}
		if command := input.Command + input.Cmd; command != "" {
			out = append(out, command)
		}
	}
	return out
}
