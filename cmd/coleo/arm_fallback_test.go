package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// catalogueOfArms is the catalogue of models in a world of newCatalogued.
const catalogueOfArms = `{"at":"2026-01-01T00:00:00Z","body":{"connected":["b"],"providers":[
	{"id":"a","name":"A","models":[{"id":"big","cost":{"input":3,"output":15}},{"id":"odd"}]},
	{"id":"b","name":"B","models":[{"id":"big","cost":{"input":3,"output":15}},
		{"id":"huge","cost":{"input":9,"output":40}},{"id":"free","cost":{"input":0,"output":0}}]}]}}`

// newCatalogued returns a world in which the models of the fake agent CLI come from a catalogue.
// Serve normally asks OpenCode for the catalogue. Here no OpenCode is installed, so serve takes the
// catalogue from its store.
func newCatalogued(t *testing.T, settings string) *world {
	t.Helper()
	w := newWorld(t, settings)
	w.env = append(w.env, "COLEO_AGENTS=")
	w.write("config/harnesses/fake.toml", strings.Replace(w.read("config/harnesses/fake.toml"), "daemon_managed = true",
		"daemon_managed = true\ncatalog = true", 1))
	w.must("up")
	w.must("down")
	db, err := store.OpenServe(w.path("state/serve.db"))
	w.check(err)
	w.check(db.SetSetting(context.Background(), "opencode.providers", catalogueOfArms))
	w.check(db.Close())
	return w
}

func (w *world) startWith(name string, flags ...string) []string {
	w.t.Helper()
	dir := w.path("work-" + name)
	w.check(os.MkdirAll(dir, 0o700))
	w.write("work-"+name+"/"+fakeScript, "{}")
	return append([]string{"arm", "spawn", "-n", name, "-w", dir, "--harness", "fake"}, flags...)
}

func TestM4AnotherModelIsSaidEverywhereUntilItIsSeen(t *testing.T) {
	t.Parallel()
	w := newCatalogued(t, "")
	out := w.must(w.startWith("one", "--model", "a/big")...)
	const first = `Model: the model is b/big ($3 in, $15 out) instead of a/big ($3 in, $15 out), per million tokens: ` +
		`Provider "a" not available, using B`
	if line, _, _ := strings.Cut(out, "\n"); line != first {
		t.Errorf("the first line is %q, want %q", line, first)
	}
	arm := w.arm("one")
	if arm.Provider != "b" || arm.Model != "big" || arm.DefaultModel != "a/big" || arm.ModelFallback == nil ||
		arm.ModelFallback.Seen {
		t.Fatalf("the arm has %s/%s, by default %s, %+v", arm.Provider, arm.Model, arm.DefaultModel, arm.ModelFallback)
	}
	if events := w.events("one", coleo.EventModel); len(events) != 1 || !strings.Contains(string(events[0].Payload),
		`"asked":{"model":"a/big"`) {
		t.Errorf("the events of the kind model are %v", events)
	}
	for _, c := range []struct{ verb, want string }{
		{"arm list", "big (not a/big)"}, {"arm status one", "instead of a/big"},
		{"arm status one", "arm model one --seen"}, {"arm model one", first},
	} {
		if out := w.must(strings.Fields(c.verb)...); !strings.Contains(out, c.want) {
			t.Errorf("%s =\n%s\nwithout %q", c.verb, out, c.want)
		}
	}
	w.must("arm", "model", "one", "--seen")
	if out := w.must("arm", "list"); strings.Contains(out, "not a/big") {
		t.Errorf("after --seen the list is\n%s", out)
	}
	w.must("down")
	w.must("up")
	if arm := w.arm("one"); arm.ModelFallback == nil || !arm.ModelFallback.Seen {
		t.Errorf("after a restart of serve: %+v", arm.ModelFallback)
	}
	w.must("arm", "kill", "one")
	if reply := decode[wire.SpawnReply](w, w.startWith("one")...); reply.ModelChange == nil ||
		!reply.Arm.ModelFallback.Seen ||
		reply.ModelChange.Asked.Model != "a/big" || reply.ModelChange.Used.Price == nil {
		t.Errorf("the next start says %+v", reply.ModelChange)
	}
	w.must("arm", "kill", "one")
	if reply := decode[wire.SpawnReply](w, w.startWith("one", "--model", "b/huge")...); reply.ModelChange != nil ||
		reply.Arm.ModelFallback != nil || reply.Arm.DefaultModel != "b/huge" {
		t.Errorf("a start with a model that is there says %+v", reply)
	}
	if e := w.fails(5, "arm", "model", "one", "--seen"); e.Code != coleo.EConflict {
		t.Errorf("--seen without a fallback: %+v", e)
	}
}

func TestAStricterFallbackStartsNothingAndNamesChoices(t *testing.T) {
	t.Parallel()
	w := newCatalogued(t, "[models]\nfallback = \"none\"\n")
	w.must("up")
	for name, c := range map[string]struct {
		flags []string
		want  string // the expected model or error
	}{
		"config.toml":       {[]string{"--model", "a/big"}, "there are b/big, b/free, b/huge"},
		"a flag goes first": {[]string{"--model", "a/big", "--fallback", "any"}, "b/big"},
		"the same price":    {[]string{"--model", "a/big", "--fallback", "same-price"}, "b/big"},
		"no dearer":         {[]string{"--model", "gpt-4o/gpt-4o", "--fallback", "cheaper"}, "b/free"},
		"an unknown price": {[]string{"--model", "a/odd", "--fallback", "cheaper"},
			"the price of the requested model is unknown"},
		"it is there": {[]string{"--model", "b/huge"}, "b/huge"},
		"no strategy of Coleo's": {[]string{"--model", "a/big", "--fallback", "best"},
			`one of "any, same-price, cheaper, none"`},
	} {
		arm := strings.ReplaceAll(name, " ", "-")
		arm = strings.ReplaceAll(arm, "'", "")
		args := w.startWith(arm, c.flags...)
		done := w.run(args...)
		got := done.err
		if done.code == 0 {
			got = coleo.ModelName(w.arm(arm).Provider, w.arm(arm).Model)
		}
		if !strings.Contains(got, c.want) || strings.Count(done.err, "\n") > 1 {
			t.Errorf("%s: exit %d, %s; want %s", name, done.code, got, c.want)
		}
	}
	if list := w.must("arm", "list", "--all"); strings.Contains(list, "config.toml") {
		t.Errorf("what failed left an arm:\n%s", list)
	}
}
