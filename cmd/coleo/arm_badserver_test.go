package main

import (
	"strings"
	"testing"

	"coleo.dev"
)

// fakeOpenCodeWorld returns a world with a fake OpenCode that has the given fault.
func fakeOpenCodeWorld(t *testing.T, f fault) *world {
	t.Helper()
	w := newWorld(t, "")
	w.check(link(w.path("bin/coleo"), w.path("bin/opencode")))
	w.write("bin/fault", string(f))
	w.must("up")
	return w
}

func (w *world) spawnsOpenCode() []string {
	return []string{"arm", "spawn", "-n", "a", "-w", w.dir, "--harness", "opencode-api", "--model", "p/m"}
}

// If OpenCode sends a bad catalogue of models, Coleo must report that in one line. It must then
// start no arm, because nobody knows whether the requested model exists.
func TestABadCatalogueOfTheAgentCLIIsOneLine(t *testing.T) {
	t.Parallel()
	for f, want := range map[fault]string{
		noJSON:   "the server's answer to GET /provider cannot be read: invalid character '<'",
		halfJSON: "the server's answer to GET /provider cannot be read: unexpected end of JSON input",
		negative: "all[0].models.m.cost.input: -1 cannot be a price",
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			w := fakeOpenCodeWorld(t, f)
			r := w.run("models", "list")
			if note := "coleo: note: the catalogue is not in the list: model catalogue: " + want; r.code != 0 ||
				!strings.HasPrefix(r.err, note) || strings.Count(r.err, "\n") != 1 {
				t.Errorf("%v\nwant one line: %s", r, note)
			}
			e := w.fails(2, w.spawnsOpenCode()...)
			if e.Code != coleo.EInvalid || !strings.HasPrefix(e.Message, "nothing was done: model catalogue: "+want) {
				t.Errorf("spawn: %+v", e)
			}
			if list := w.must("arm", "list"); list != "No arms registered.\n" {
				t.Errorf("the arms are\n%s", list)
			}
		})
	}
}

// Coleo sets a password for each server that it starts. A server that refuses this password is not
// Coleo's, and the error must say so at once.
func TestAServerThatRefusesThePasswordIsToldAtOnce(t *testing.T) {
	t.Parallel()
	w := fakeOpenCodeWorld(t, wrongPassword)
	w.must(w.spawnsOpenCode()...)
	arm := w.wait("a", coleo.Failed)
	if arm.Rule != "server refuses the password" {
		t.Errorf("the rule is %q", arm.Rule)
	}
	if need, _ := arm.Need(); need != coleo.NeedsYou {
		t.Errorf("the list says %s", need)
	}
	if e := w.fails(8, "arm", "prompt", "a", "hello"); e.Code != coleo.EUnavailable ||
		!strings.HasPrefix(e.Message, "nothing was sent: the server at http://127.0.0.1:") ||
		!strings.Contains(e.Message, "refuses the password") {
		t.Errorf("a prompt: %+v", e)
	}
	w.write("bin/fault", string(noFault))
	w.must("arm", "recover", "a")
	w.wait("a", coleo.Idle)
}

func TestAServerThatSendsHalfOfAnEventIsFollowed(t *testing.T) {
	t.Parallel()
	w := fakeOpenCodeWorld(t, halfEvents)
	w.must(w.spawnsOpenCode()...)
	w.wait("a", coleo.Idle)
}
