package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
)

// addHarness adds a harness with the given name for the fake agent CLI. The harness has a model. In
// the harness's text, addHarness replaces `old` by `replacement`.
func (w *world) addHarness(name, old, replacement string) {
	w.t.Helper()
	text := string(fakeagent.Harness)
	if !strings.Contains(text, old) {
		w.t.Fatalf("the description of the fake holds no %q", old)
	}
	text = strings.Replace(text, old, replacement, 1)
	w.write("config/harnesses/"+name+".toml", strings.Replace(text, `name = "fake-with-model"`, `name = "`+name+`"`, 1))
}

func TestAHarnessIsJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.addHarness("sound", "", "")
	w.addHarness("hasty", `["--workdir"`, `["--start", "hasty", "--workdir"`)
	w.addHarness("stubborn", `args = ["--model", "{{.Model}}"]`, `args = []`)
	for name, c := range map[string]struct {
		args []string
		Exit int
		want []string
	}{
		"what passes is compatible": {[]string{"sound", "--check", "simple_prompt,file_creation"},
			0, []string{"ok    simple_prompt ", "ok    file_creation ", "sound: compatible, 2 of 2"}},
		"what fails a check that must pass is not": {[]string{"hasty", "--check", "simple_prompt, file_creation"},
			1, []string{"ok    simple_prompt ", "FAIL  file_creation ", "before it was approved",
				"hasty: NOT compatible, 1 of 2"}},
		"what fails another check is compatible all the same": {[]string{"stubborn", "--check", "model_flag"}, 0,
			[]string{"FAIL  model_flag ", "stubborn: compatible, 0 of 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.run(append([]string{"harness", "test"}, c.args...)...)
			if r.code != c.Exit {
				t.Fatalf("%v\nwant exit %d", r, c.Exit)
			}
			for _, text := range c.want {
				if !strings.Contains(r.out, text) {
					t.Errorf("%v\nwant %q in it", r, text)
				}
			}
		})
	}
	r := w.run("--json", "harness", "test", "hasty", "--check", "file_creation", "--junit", w.path("report.xml"))
	var report conformance.Report
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != 1 || report.Compatible ||
		!report.Isolated || len(report.Results) != 1 || report.Results[0].Pass {
		t.Errorf("%v\nwant exit 1 and the report as JSON: %v", r, err)
	}
	if text := w.read("report.xml"); !strings.Contains(text, "before it was approved") {
		t.Errorf("the JUnit report is %s", text)
	}
}

func TestAHarnessThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.addHarness("sound", "", "")
	w.addHarness("absent", `command = "fakeagent"`, `command = "no-such-program"`)
	w.addHarness("crooked", `state = "idle"`, `state = "sleepy"`)
	for name, c := range map[string]struct {
		args []string
		Exit int
		code coleo.Code
		want string
	}{
		"a harness that nobody knows": {[]string{"nope"}, 2, coleo.EInvalid, "Unknown harness: nope"},
		"a description that is wrong": {[]string{"crooked"}, 2, coleo.EInvalid, "Unknown harness: crooked"},
		"a size that is none": {[]string{"sound", "--size", "80"}, 2, coleo.EInvalid,
			`"80" is not a terminal size`},
		"a check that nobody knows": {[]string{"sound", "--check", "simple_prompt,nope"}, 2, coleo.EInvalid,
			"Unknown check: nope"},
		"two lists of checks": {[]string{"sound", "--quick", "--check", "liar"}, 2, coleo.EInvalid,
			"give one of them"},
		"no harness": {nil, 2, coleo.EInvalid, "the name of a harness"},
		"an agent CLI that is not installed": {[]string{"absent", "--check", "simple_prompt"}, 3, coleo.ENotInstalled,
			"install it with: go test ./conformance"},
		"an agent CLI that is not there": {[]string{"sound", "--check", "simple_prompt", "--binary", w.path("nowhere")},
			3, coleo.ENotInstalled, "is not at " + w.path("nowhere")},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.run(append([]string{"--json", "harness", "test"}, c.args...)...)
			lines := strings.Split(strings.TrimSpace(r.err), "\n")
			var body struct{ Error coleo.Error }
			err := json.Unmarshal([]byte(lines[len(lines)-1]), &body)
			if err != nil || r.code != c.Exit || r.out != "" || body.Error.Code != c.code ||
				!strings.Contains(body.Error.Message, c.want) {
				t.Errorf("%v\nwant exit %d, and %s with %q", r, c.Exit, c.code, c.want)
			}
		})
	}
	if r := w.run("harness", "list"); r.code != 0 || !strings.Contains(r.err, `crooked.toml:`) ||
		strings.Contains(r.out, "crooked") {
		t.Errorf("%v\nwant the wrong description left out, and its line told", r)
	}
}
