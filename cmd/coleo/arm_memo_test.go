package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// memoSchema accepts an object with integer values.
const memoSchema = `{"type":"object","additionalProperties":{"type":"integer"}}`

// TestM29AMemoIsKeptWithItsArm: a memo must survive restarts of serve and of the arm, until the arm
// is removed.
func TestM29AMemoIsKeptWithItsArm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("schema.json", memoSchema)
	spawn := []string{"arm", "spawn", "-n", "one", "--harness", "fake", "-w", w.workdir("one", fakeagent.Script{})}
	w.must(append(spawn, "--state-schema", w.path("schema.json"))...)
	if out := w.must("arm", "memo", "one"); out != "No memo.\n" {
		t.Errorf("the memo of a new arm: %q", out)
	}
	w.must("arm", "memo", "one", "set", `{"done": 1}`)
	w.must("arm", "state", "one", "patch", `{"left": 2}`)
	for _, bad := range [][]string{{"set", `{"done":"x"}`}, {"patch", `{"left":"x"}`}, {"set", "[]"}, {"set", "{"}} {
		e := w.fails(2, append([]string{"arm", "memo", "one"}, bad...)...)
		if e.Code != coleo.EInvalid || strings.Contains(e.Message, "\n") || !strings.Contains(e.Message, "unchanged") &&
			!strings.Contains(e.Message, "nothing was changed") {
			t.Errorf("%q: %+v", bad, e)
		}
	}
	holds := func(when, want string) {
		t.Helper()
		if m := decode[wire.Memo](w, "arm", "memo", "one", "get"); string(compacted(t, m.Value)) != want ||
			string(compacted(t, m.Schema)) != memoSchema || m.Changed.IsZero() {
			t.Errorf("%s the memo is %s with the schema %s, want %s", when, m.Value, m.Schema, want)
		}
	}
	holds("after bad values", `{"done":1,"left":2}`)
	w.must("down")
	w.must("up")
	holds("after a restart of serve", `{"done":1,"left":2}`)
	var patching sync.WaitGroup
	for _, key := range []string{"a", "b", "c", "d"} {
		patching.Go(func() { w.run("arm", "memo", "one", "patch", `{"`+key+`":1}`) })
	}
	patching.Wait()
	holds("after four patches at once", `{"a":1,"b":1,"c":1,"d":1,"done":1,"left":2}`)
	w.must("arm", "kill", "one")
	w.write("other.json", `{"type":"array"}`)
	if e := w.fails(2, append(spawn, "--state-schema", w.path("other.json"))...); !strings.HasPrefix(e.Message,
		"nothing was started: ") {
		t.Errorf("a schema that the memo does not fit: %+v", e)
	}
	if arm := w.arm("one"); arm.Status != coleo.StatusStopped {
		t.Errorf("after a refused schema the arm is %s", arm.Status)
	}
	w.must(spawn...)
	holds("after a restart of the arm", `{"a":1,"b":1,"c":1,"d":1,"done":1,"left":2}`)
	w.must("arm", "kill", "one")
	w.must("arm", "remove", "one")
	w.must(spawn...)
	if m := decode[wire.Memo](w, "arm", "memo", "one"); len(m.Value) > 0 || len(m.Schema) > 0 {
		t.Errorf("a new arm of the same name has the memo %+v", m)
	}
}

func TestM29ABadSchemaStartsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.must("up")
	for name, schema := range map[string]string{"no.json": `{"type":`, "wrong.json": `{"type":3}`} {
		w.write(name, schema)
		e := w.fails(2, "arm", "spawn", "-n", "one", "--harness", "fake", "-w", w.workdir("one", fakeagent.Script{}),
			"--state-schema", w.path(name))
		if e.Code != coleo.EInvalid || !strings.Contains(e.Message, "nothing was started") ||
			strings.Contains(e.Message, "\n") {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if r := w.run("arm", "status", "one"); r.code != 4 {
		t.Errorf("there is an arm: %v", r)
	}
	if e := w.fails(4, "arm", "memo", "one"); !strings.Contains(e.Message, `no arm called "one"`) {
		t.Errorf("the memo of no arm: %+v", e)
	}
}

// compacted returns the JSON without spaces.
func compacted(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
