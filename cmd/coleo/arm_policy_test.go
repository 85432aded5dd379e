package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// policyMode returns the mode of an arm's policy.
func (w *world) policyMode(name string) coleo.PolicyMode {
	w.t.Helper()
	var c coleo.SpawnConfig
	w.check(json.Unmarshal(w.arm(name).Config, &c))
	return c.Policy
}

func TestThePolicyOfAnArmIsThatOfItsStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[policy]\nmode = \"shadow\"\n")
	f := w.spawnFake("one")
	if got := w.policyMode("one"); got != coleo.PolicyShadow {
		t.Errorf("a new arm has the policy %q, want that of config.toml", got)
	}
	w.must("arm", "spawn", "-n", "two", "-w", f.workdir, "--harness", "fake", "--policy", "off")
	if got := w.policyMode("two"); got != coleo.PolicyOff {
		t.Errorf("--policy off gives %q", got)
	}
	w.must("arm", "kill", "two")
	w.must("arm", "spawn", "-n", "two")
	if got := w.policyMode("two"); got != coleo.PolicyOff {
		t.Errorf("started again, it has the policy %q, want the one that it had", got)
	}
	if e := w.fails(2, "arm", "spawn", "-n", "three", "-w", f.workdir, "--harness", "fake", "--policy", "all"); e.Code !=
		coleo.EInvalid {
		t.Errorf("--policy all: %+v", e)
	}
	value := strings.TrimSpace(f.must("token", "create", "ci", "--scope", "read,spawn"))
	dir := w.workdir("token", fakeagent.Script{})
	if got := f.asOperator(value, "POST", "/api/arms/four/spawn", `{"harness":"fake","workdir":"`+dir+`"}`); got != 200 {
		t.Fatalf("a start by a token: %d, want 200", got)
	}
	if got := w.policyMode("four"); got != coleo.PolicyOff {
		t.Errorf("an arm of a token has the policy %q, want off", got)
	}
	if got := f.asOperator(value, "POST", "/api/arms/five/spawn", `{"harness":"fake","workdir":"`+dir+
		`","policy":"read"}`); got != 403 {
		t.Errorf("a start with a policy by a token: %d, want 403", got)
	}
}

// The fake agent CLI has no hook in this test, so the policy must leave each dialog to a person.
func TestThePolicySaysWhatItHasDecided(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[policy]\nmode = \"read\"\n")
	f := w.spawnFake("one")
	if out := w.must("policy", "explain", "one"); !strings.Contains(out, "has decided nothing yet") {
		t.Errorf("before the first dialog: %s", out)
	}
	f.asks("cat a.txt")
	until(t, "the policy has decided", func() bool {
		return strings.Contains(w.must("policy", "explain", "one"), "ask  by default")
	})
	out := w.must("policy", "explain", "one")
	for _, want := range []string{"cat a.txt", "why: no hook of Fake reports the call", "A person answers it."} {
		if !strings.Contains(out, want) {
			t.Errorf("explain says nothing of %q:\n%s", want, out)
		}
	}
	list := decode[[]coleo.PolicyDecision](w, "policy", "explain", "one")
	if len(list) != 1 || list[0].Decision != "ask" || list[0].Subject != "cat a.txt" || list[0].Applied {
		t.Errorf("as JSON: %+v", list)
	}
	if out := w.must("run", "events", "--arm", "one", "--kind", "policy"); !strings.Contains(out,
		"ask (default; not answered)") {
		t.Errorf("the events are\n%s", out)
	}
	if out := w.must("policy", "suggest"); !strings.Contains(out, "nothing to suggest") {
		t.Errorf("suggested:\n%s", out)
	}
	f.must("arm", "approve", "one")
}

func TestAProjectsPolicyIsTrustedByItsHash(t *testing.T) {
	t.Parallel()
	w := newFolder(t, "version = 1\n")
	dir := w.path("project")
	w.check(os.MkdirAll(dir+"/.coleo", 0o700))
	if e := w.fails(4, "policy", "trust", dir); e.Code != coleo.ENotFound {
		t.Errorf("without a policy: %+v", e)
	}
	file := dir + "/.coleo/policy.toml"
	w.check(os.WriteFile(file, []byte("[[rule]]\ncommand = \"make\"\ndecision = \"allow\" # \x1b[2J\n"), 0o600))
	if e := w.fails(2, "policy", "trust", dir); !strings.Contains(e.Message, "policy.toml") {
		t.Errorf("a file with control characters: %+v", e)
	}
	w.check(os.WriteFile(file, []byte("[[rule]]\ncommand = \"make\"\ndecision = \"allow\"\n"), 0o600))
	seen := decode[struct {
		Hash    string `json:"sha256"`
		Trusted bool   `json:"trusted"`
	}](w, "policy", "trust", dir)
	if out := w.must("policy", "trust", dir); seen.Trusted || !strings.Contains(out, "command = \"make\"") ||
		!strings.Contains(out, seen.Hash) {
		t.Errorf("it is shown as\n%s", out)
	}
	w.fails(12, "policy", "trust", dir, "--hash", "other")
	w.must("policy", "trust", dir, "--hash", seen.Hash)
	if out := w.must("policy", "trust", dir); !strings.Contains(out, "It is trusted.") {
		t.Errorf("after that:\n%s", out)
	}
	w.must("policy", "trust", dir, "--revoke")
	w.fails(4, "policy", "trust", dir, "--revoke")
}

func TestM14AGrantIsListedAndRevoked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if out := f.must("policy", "grants"); !strings.Contains(out, "Nothing is granted.") {
		t.Errorf("before the first grant: %s", out)
	}
	f.fails(4, "policy", "grant", "nobody", "make")
	f.fails(2, "policy", "grant", "one", " ")
	f.fails(2, "policy", "grant", "one", "make", "--for", "721h")
	f.fails(2, "policy", "grant", "one", "make", "--scope", "host")
	f.fails(2, "policy", "grant", "one", "make", "--tool", "Bash")
	f.fails(2, "policy", "grant", "one")
	f.fails(2, "policy", "grant")
	out := f.must("policy", "grant", "one", "--tool", "WebSearch", "--scope", "session")
	if !strings.Contains(out, "arm one (start 1)  tool WebSearch") {
		t.Errorf("a grant for a start is told as %s", out)
	}
	f.must("policy", "grants", "--revoke", strings.Fields(out)[1])
	f.must("policy", "grant", "one", "go test *", "--for", "1h")
	list := decode[[]struct{ ID, Arm, Command string }](f.world, "policy", "grants")
	if len(list) != 1 || list[0].Arm != f.arm("one").ID || list[0].Command != "go test *" {
		t.Fatalf("the grants are %+v", list)
	}
	if out := f.must("policy", "grants"); !strings.Contains(out, `arm one  "go test *"`) {
		t.Errorf("the grants are\n%s", out)
	}
	f.must("policy", "grants", "--revoke", list[0].ID)
	f.fails(4, "policy", "grants", "--revoke", list[0].ID)
}
