package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev/conformance"
)

// writeAsks is a part of a harness. It describes two dialogs of the agent CLI, "write" and "odd".
// The fake shows "write" as described, and "odd" differently.
const writeAsks = `[[asks]]
name = "write"
doc = "The model writes a file."
kind = "permission"
tool = "write"
input = '{"path":"{{.Nonce}}.txt","content":"{{.Nonce}}"}'
writes = "{{.Nonce}}.txt"

[[asks]]
name = "odd"
doc = "The dialog is of another kind."
kind = "login"
tool = "write"
input = '{"path":"{{.Nonce}}.txt","content":"{{.Nonce}}"}'

[[rule]]
name = "working"`

func TestAHarnessIsJudgedByWhatItsAgentCLIAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.addHarness("sound", "", "")
	w.addHarness("asking", "[[rule]]\nname = \"working\"", writeAsks)
	for name, c := range map[string]struct {
		args []string
		exit int
		want []string
	}{
		"a dialog as described": {[]string{"asking", "--asks", "write"}, 0, []string{
			"ok    write", "denied, approved", "asking: 1 of 1 lines of the catalogue are as described"}},
		"a dialog of another kind": {[]string{"asking", "--asks", "odd"}, 1, []string{
			"FAIL  odd", "is of the kind permission, want login", "0 of 1 lines"}},
		"a dialog that nobody knows": {[]string{"asking", "--asks", "write,read"}, 2,
			[]string{`asking has no [[asks]] "read"`}},
		"a harness without dialogs": {[]string{"sound", "--asks", "all"}, 2, []string{"sound has no dialogs to test"}},
		"checks beside dialogs": {[]string{"asking", "--asks", "all", "--quick"}, 2,
			[]string{"--asks: leave out --quick, --check and --junit"}},
		"settings beside dialogs": {[]string{"asking", "--asks", "all", "--settings", "all"}, 2,
			[]string{"--settings and --asks: give one of them"}},
	} {
		r := w.run(append([]string{"harness", "test"}, c.args...)...)
		for _, text := range c.want {
			if r.code != c.exit || !strings.Contains(r.out+r.err, text) {
				t.Errorf("%s: %v\nwant exit %d and %q", name, r, c.exit, text)
			}
		}
	}
	r := w.run("--json", "harness", "test", "asking", "--asks", "write")
	var report conformance.AsksReport
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != 0 || !report.Compatible ||
		len(report.Asks) != 1 || report.Asks[0].Name != "write" || report.Asks[0].Kind != "permission" {
		t.Errorf("%v\nwant the report as JSON: %v", r, err)
	}
}
