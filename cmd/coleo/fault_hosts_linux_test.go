package main

import (
	"syscall"
	"testing"

	"coleo.dev"
)

// keys types into an arm of this machine as the machine's host agent does. It returns the code of
// the error, or "".
func (m *machine) keys(arm, id string) coleo.Code {
	m.t.Helper()
	stored := decodeText[struct {
		Record struct{ Handle coleo.Handle }
	}](m.t, m.read("state/arms/"+arm+"/arm.json"))
	code, err := m.inside(machineVerb, "keys", stored.Record.Handle.Dir, stored.Record.Handle.Nonce, id).Output()
	m.check(err)
	return coleo.Code(code)
}

// TestAFrozenArmIsNotTypedIntoTwice: an arm's machine is cut off, and the arm is started on another
// machine. The arm has --on-partition freeze. So when the new start accepts keys, the former start
// must accept none.
func TestAFrozenArmIsNotTypedIntoTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	from, to := w.addMachine("agent-from"), w.addMachine("agent-to")
	w.spawnFakeOn("one", from.id, "--on-partition", "freeze").checkAnswer("before")
	id := w.arm("one").ID
	if code := from.keys(id, "before"); code != "" {
		t.Fatalf("keys at the only start: %s", code)
	}

	from.setCut(true)
	until(t, "serve says that nobody watches the arm", func() bool { return w.arm("one").Runtime.Stale })
	if e := w.fails(8, "arm", "recover", "one"); e.Code != coleo.EUnavailable {
		t.Errorf("recover = %+v, want %s", e, coleo.EUnavailable)
	}
	w.must("arm", "recover", "one", "--force", "--agent", to.id)
	if now := w.arm("one"); now.AgentID != to.id || now.Generation != 2 {
		t.Fatalf("the arm is on %s in generation %d", now.AgentID, now.Generation)
	}
	w.must("arm", "prompt", "one", "say after", "--wait")
	if code := from.keys(id, "after"); code != coleo.EUnproven {
		t.Errorf("keys at the former start: %q, want %q", code, coleo.EUnproven)
	}
	if code := to.keys(id, "after"); code != "" {
		t.Errorf("keys at the new start: %q", code)
	}

	from.setCut(false)
	until(t, "the former start is ended", func() bool { return len(from.processesOf("hold")) == 0 })
}

// TestAnArmIsStartedElsewhereByForceAlone: an arm without --on-partition freeze is started on
// another machine with --force. Both starts then accept keys until the former host agent is back.
// The help of --force says so.
func TestAnArmIsStartedElsewhereByForceAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	from, to := w.addMachine("agent-from"), w.addMachine("agent-to")
	w.spawnFakeOn("one", from.id).checkAnswer("before")
	id := w.arm("one").ID

	from.signal(syscall.SIGSTOP)
	until(t, "serve says that nobody watches the arm", func() bool { return w.arm("one").Runtime.Stale })
	w.fails(8, "arm", "recover", "one")
	if now := w.arm("one"); now.AgentID != from.id || now.Generation != 1 {
		t.Fatalf("a recovery that was refused left the arm on %s in generation %d", now.AgentID, now.Generation)
	}
	w.must("arm", "recover", "one", "--force", "--agent", to.id)
	w.must("arm", "prompt", "one", "say after", "--wait")
	if code := from.keys(id, "after"); code != "" {
		t.Errorf("keys at the former start: %q", code)
	}

	from.signal(syscall.SIGCONT)
	until(t, "the former start is ended", func() bool { return len(from.processesOf("hold")) == 0 })
	if now := w.arm("one"); now.AgentID != to.id || now.Generation != 2 || len(to.processesOf("hold")) == 0 {
		t.Errorf("afterwards the arm is on %s in generation %d", now.AgentID, now.Generation)
	}
}
