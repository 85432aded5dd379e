package main

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
)

func TestAnArmFromSpawnToRemove(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.workdir("one", fakeagent.Script{})
	r := w.run("arm", "spawn", "-n", "one", "-w", dir, "--harness", "fake")
	if r.code != 0 || !strings.HasPrefix(r.out, "Spawned arm: one (fake, process ") ||
		!strings.HasSuffix(r.out, ", idle)\n") || r.err != "coleo: started serve and a host agent\n" {
		t.Fatal(r)
	}
	nonce := conformance.Nonce()
	if out := w.must("arm", "prompt", "one", "--wait", "say", nonce); out != nonce+"\n" {
		t.Errorf("the answer is %q, want %q", out, nonce)
	}
	if out := w.must("arm", "prompt", "one", "say", "it"); out != "Sent to one (started)\n" {
		t.Errorf("prompt printed %q", out)
	}
	w.wait("one", coleo.Idle)
	w.showsInLists(dir)
	w.must("arm", "kill", "one")
	if out := w.must("arm", "list"); out != "No active arms.\n" {
		t.Errorf("list after kill = %q", out)
	}
	if out := w.must("arm", "list", "--all"); !strings.Contains(out, "ended") {
		t.Errorf("list --all after kill = %q", out)
	}
	if e := w.fails(13, "arm", "prompt", "one", "hello"); e.Code != coleo.EExited {
		t.Errorf("prompt to a stopped arm = %+v", e)
	}
	journals := w.path("state/arms/" + w.arm("one").ID)
	w.must("arm", "remove", "one")
	if _, err := os.Stat(journals); !os.IsNotExist(err) {
		t.Errorf("the journal of a removed arm: %v", err)
	}
	if out := w.must("arm", "list", "--all"); out != "No arms registered.\n" {
		t.Errorf("list after remove = %q", out)
	}
	if e := w.fails(4, "arm", "status", "one"); e.Code != coleo.ENotFound {
		t.Errorf("status of a removed arm = %+v", e)
	}
}

// showsInLists checks what list and status print for the arm "one".
func (w *world) showsInLists(dir string) {
	w.t.Helper()
	if out := w.must("arm", "list"); !strings.Contains(out, "one") || !strings.Contains(out, "idle") ||
		!strings.Contains(out, dir) {
		w.t.Errorf("list = %s", out)
	}
	list := decode[struct{ Arms []map[string]any }](w, "arm", "list")
	if len(list.Arms) != 1 {
		w.t.Fatalf("%d arms in the list, want 1", len(list.Arms))
	}
	if runtime, ok := list.Arms[0]["runtime"].(map[string]any); !ok || runtime["display"] != "Idle" {
		w.t.Errorf("the summary of an idle arm is %v", list.Arms[0]["runtime"])
	}
	status := decode[map[string]any](w, "arm", "status", "one")
	for where, arm := range map[string]map[string]any{"list": list.Arms[0], "status": status} {
		// These are the field names of the published Arm object and of its runtime summary. A field
		// without a value may be missing.
		has(w.t, where, arm, "id", "name", "harness", "status", "contextBudget", "currentContextUsed", "createdAt",
			"updatedAt",
			"lastActivityAt", "lastHeartbeat", "lastOutputAt", "config", "pid", "totalTokens", "totalCost",
			"agentId", "host",
			"workdir", "runtime")
		runtime, _ := arm["runtime"].(map[string]any)
		has(w.t, where+" runtime", runtime, "state", "reason", "distributed", "hasRuntime", "hasSession", "canRecover",
			"canRestart",
			"lastActivityAt", "lastHeartbeatAt", "lastOutputAt", "secondsSinceActivity", "secondsSinceHeartbeat",
			"secondsSinceOutput", "signals")
		signals, _ := runtime["signals"].(map[string]any)
		has(w.t, where+" signals", signals, "dbStatus", "hasPid", "hasPort", "hasSessionId", "hasAgentId", "hasWorkdir",
			"hasAssignedTask", "distributed")
		if arm["name"] != "one" || arm["status"] != "idle" || arm["workdir"] != dir || runtime["state"] != "quiet" {
			w.t.Errorf("%s: %v", where, arm)
		}
	}
	text := w.must("arm", "status", "one")
	for _, want := range []string{"Runtime summary:\n", "  State:", "  Reason:", "  Last output:", "  Last heartbeat:",
		"  Last activity:", "  Can recover:",
		"Signals: status idle, pid yes, port no, session no, agent yes, workdir yes, task no"} {
		if !strings.Contains(text, want) {
			w.t.Errorf("status has no %q:\n%s", want, text)
		}
	}
}

func has(t *testing.T, what string, object map[string]any, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, ok := object[name]; !ok {
			t.Errorf("%s has no %s", what, name)
		}
	}
}

func TestTwoPromptsEachGetTheirAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	first := decode[coleo.Receipt](f.world, "arm", "prompt", f.name, "pause 2s\nsay the-first")
	second := decode[coleo.Receipt](f.world, "arm", "prompt", f.name, "say the-second")
	if first.Proof != coleo.ProofStarted || second.Proof != coleo.ProofQueued {
		t.Errorf("proofs %s and %s, want %s and %s", first.Proof, second.Proof, coleo.ProofStarted, coleo.ProofQueued)
	}
	for _, r := range []coleo.Receipt{second, first} {
		if end := f.awaitRun(r.ID); end.Status != coleo.Idle {
			t.Errorf("run of %q ended with %+v", r.Text, end)
		}
	}
	if end := f.awaitRun(second.ID); end.Answer != "the-second" {
		t.Errorf("the second answer is %q", end.Answer)
	}
}

func TestM10InterruptStopsTheTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := decode[coleo.Receipt](f.world, "arm", "prompt", f.name, "pause 60s")
	f.wait(f.name, coleo.Processing)
	f.must("arm", "interrupt", f.name)
	if end := f.awaitRun(r.ID); end.Status != coleo.Idle {
		t.Errorf("the run ended with %+v", end)
	}
	f.must("arm", "prompt", f.name, "pause 60s")
	f.must("arm", "prompt", "-i", f.name, "--wait", "say instead")
	if got := f.texts(fakeagent.Stopped); len(got) != 2 {
		t.Errorf("%d turns were stopped, want 2", len(got))
	}
}
