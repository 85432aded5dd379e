package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// numberSchema is the schema that answers in these tests must fit.
const numberSchema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`

// spawnTelling starts an arm with the fake agent CLI. The fake writes its answers to a file, and
// the arm's harness reads this file as the agent CLI's record.
func (w *world) spawnTelling(name string, rules ...fakeagent.Rule) *fake {
	w.t.Helper()
	dir := w.workdir(name, fakeagent.Script{Rules: rules})
	w.write("config/harnesses/telling.toml", strings.Replace(w.read("config/harnesses/fake.toml"), `name = "fake"`,
		`name = "telling"`, 1)+`
[transcript]
file = "`+fakeRecord+`"
prompt = "kind=prompted"
answer = "kind=said"
text = "text"
`)
	w.must("arm", "spawn", "-n", name, "-w", dir, "--harness", "telling", "--profile", "hermetic", "--home", dir)
	return &fake{world: w, name: name, workdir: dir}
}

// lastRun returns the newest run of the arm.
func (f *fake) lastRun() coleo.Run {
	f.t.Helper()
	return decode[struct {
		Runs []coleo.Run `json:"runs"`
	}](f.world, "run", "list", f.name).Runs[0]
}

func TestR9APromptWithASchemaPrintsTheJSONThatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := w.spawnTelling("one",
		fakeagent.Rule{Contains: "cannot be used", Do: []string{"pause 300ms", "say Here it is: ", "pause 300ms",
			`say {"n": 2}`}},
		fakeagent.Rule{Contains: "Count", Do: []string{"pause 300ms", "say many"}},
		fakeagent.Rule{Do: []string{"pause 300ms", `say {"n": "x"}`}})
	w.write("schema.json", numberSchema)
	w.write("input.json", `[ 1, 2 ]`)
	w.write("list.json", `{"type":"array","items":{"type":"integer"}}`)
	checked := []string{"arm", "prompt", "one", "--wait", "--schema", w.path("schema.json")}
	if got := w.must(append(checked, "--input", w.path("input.json"), "--input-schema", w.path("list.json"),
		"Count.")...); got != "{\"n\":2}\n" {
		t.Errorf("the verb printed %q", got)
	}
	last := f.lastRun()
	if last.AnswerCheck != coleo.AnswerFits || last.RetryOf == "" || len(last.SpecHash) != 64 {
		t.Errorf("the last run is %+v", last)
	}
	first := decode[coleo.Run](w, "run", "show", last.RetryOf)
	if first.AnswerCheck != coleo.AnswerUnfit || first.Retry != last.ID || first.SpecHash != last.SpecHash ||
		!strings.Contains(first.CheckFault, "not JSON") {
		t.Errorf("the first run is %+v", first)
	}
	for _, run := range []string{first.ID, last.ID} {
		if got := w.must("run", "show", "--answer", run); got != "{\"n\":2}\n" {
			t.Errorf("run show --answer %s printed %q", run, got)
		}
	}
	if got := w.must("run", "show", first.ID); !strings.Contains(got, "Checked:  the answer does not fit the schema, ") {
		t.Errorf("run show printed\n%s", got)
	}
	if texts := f.texts(fakeagent.Prompted); len(texts) != 2 || !strings.Contains(texts[0], "[1,2]") ||
		!strings.Contains(texts[0], numberSchema) || !strings.Contains(texts[1], numberSchema) {
		t.Errorf("the agent CLI was prompted %q", texts)
	}

	if r := w.run(append(checked, "--retries", "0", "Guess.")...); r.code != 22 || r.out != "{\"n\": \"x\"}\n" ||
		!strings.Contains(r.err, "the prompt was delivered, and its answer does not fit the schema: at /n: type") {
		t.Errorf("an answer that does not fit: %s", r)
	}
	if e := w.fails(22, "run", "show", "--answer", f.lastRun().ID); e.Code != coleo.EAnswerUnfit {
		t.Errorf("the answer of that run: %+v", e)
	}
}

func TestR9APromptThatCannotBeCheckedIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := w.spawnTelling("one", fakeagent.Rule{Do: []string{"pause 300ms", "say one"}})
	screen := w.spawnFake("two")
	w.write("schema.json", numberSchema)
	w.write("input.json", `{"n":1.5}`)
	w.write("broken.json", `{"n":`)
	schema, input, broken := w.path("schema.json"), w.path("input.json"), w.path("broken.json")
	for want, args := range map[string][]string{
		"/n: type":        {"one", "--input", input, "--input-schema", schema, "x"},
		"is not JSON":     {"one", "--schema", broken, "x"},
		"no such file":    {"one", "--schema", w.path("none.json"), "x"},
		"from 0 to 5":     {"one", "--schema", schema, "--retries", "-1", "x"},
		"--retries needs": {"one", "--retries", "2", "x"},
		"and no input":    {"one", "--input-schema", schema, "x"},
		"only the screen": {"two", "--schema", schema, "x"},
		"$schema is":      {"one", "--schema", w.path("old.json"), "x"},
	} {
		w.write("old.json", `{"$schema":"http://json-schema.org/draft-04/schema#"}`)
		e := w.fails(2, append([]string{"arm", "prompt"}, args...)...)
		if !strings.Contains(e.Message, want) || strings.Contains(e.Message, "\n") {
			t.Errorf("%v: %q, want %q in one line", args, e.Message, want)
		}
	}
	if got := slices.Concat(f.texts(fakeagent.Prompted), screen.texts(fakeagent.Prompted)); len(got) > 0 {
		t.Errorf("the agent CLIs were prompted %q", got)
	}
	if r := w.run("arm", "prompt", "one", "--wait", "--schema", schema, "--retries", "0", "x"); r.code != 22 {
		t.Errorf("an answer that is no JSON: %s", r)
	}
	var line struct{ Kind coleo.EventKind }
	out := w.must("--json", "run", "events", f.lastRun().ID, "--kind", "output_validated")
	w.check(json.Unmarshal([]byte(out), &line))
	if line.Kind != coleo.EventOutputValidated {
		t.Errorf("run events printed %s", out)
	}
}
