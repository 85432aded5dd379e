package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/wire"
)

// forks contains the harnesses whose agent CLIs can copy a conversation. The values are the
// commands of the agent CLIs.
var forks = map[string]string{
	"claude-code": "claude", "codex": "codex", "opencode": "opencode", "opencode-api": "opencode", "kilo": "kilo",
}

// newParent starts the idle arm "one". Its conversation has no prompt yet.
func newParent(t *testing.T, harness string) *live {
	t.Helper()
	needAgent(t, harness, forks[harness])
	l := &live{world: newWorld(t, ""), name: "one"}
	l.model = startModel(t)
	endpoint := proxyModel(t, l.model.URL(), func(body string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bodies = append(l.bodies, body)
	})
	l.workdir = l.workdirOf(l.name)
	l.must("arm", "spawn", "-n", l.name, "-w", l.workdir, "--harness", harness, "--profile", "hermetic", "--home",
		l.home+"-agent", "--endpoint", endpoint, "--model", "mock-1", "--trust-workdir", "-e", "FORKED_WORD=octopus")
	l.wait(l.name, coleo.Idle)
	return l
}

// TestM20AForkKnowsTheParentAndLeavesItAlone: a fork must know its parent's conversation, and must
// not change it. The proof is in the requests to the model and in the agent CLI's own records.
func TestM20AForkKnowsTheParentAndLeavesItAlone(t *testing.T) {
	t.Parallel()
	for harness := range forks {
		t.Run(harness, func(t *testing.T) {
			t.Parallel()
			l := newParent(t, harness)
			before, forked, after := conformance.Nonce(), conformance.Nonce(), conformance.Nonce()
			l.says("one", before)
			until(t, "the id of the conversation is known", func() bool { return l.arm("one").SessionID != "" })
			parent := l.thread("one")
			reply := decode[wire.SpawnReply](l.world, "arm", "fork", "one", "-n", "two")
			if reply.Arm.State != coleo.Idle || reply.Arm.Harness != harness || reply.Arm.Workdir != l.workdir {
				t.Errorf("the fork is %+v", reply.Arm)
			}
			l.says("two", forked)
			l.says("one", after)
			if !l.modelGot("say "+before, "say "+forked) {
				t.Error("no request of the fork has the earlier prompt")
			}
			if !l.modelGot("say "+before, "say "+after) || l.modelGot("say "+forked, "say "+after) {
				t.Error("the parent does not go on as if there were no fork")
			}
			until(t, "the id of the copy is known", func() bool { return l.arm("two").SessionID != "" })
			l.checkFork(parent, forked, after)
		})
	}
}

// checkFork checks what the commands print about the arm "two", which is a fork of the arm "one".
func (l *live) checkFork(parent coleo.Thread, forked, after string) {
	l.t.Helper()
	copied := l.thread("two")
	if copied.ID == parent.ID || copied.Hidden != "fork" || l.thread("one").ID != parent.ID {
		l.t.Errorf("the thread of the fork is %+v, and that of the parent %+v", copied, l.thread("one"))
	}
	if out := l.must("arm", "status", "two"); !strings.Contains(out, "arm one (conversation "+parent.ID+")") {
		l.t.Errorf("arm status of the fork:\n%s", out)
	}
	if out := l.must("arm", "status", "one"); strings.Contains(out, "Forked from") {
		l.t.Errorf("arm status of the parent:\n%s", out)
	}
	list := decode[coleo.ThreadList](l.world, "thread", "list", "--project", l.workdir).Threads
	if len(list) != 1 || list[0].ID != parent.ID {
		l.t.Errorf("the list has %+v, want the parent alone", list)
	}
	texts := func(id string) string {
		var out strings.Builder
		for _, m := range decode[coleo.ThreadPage](l.world, "thread", "show", id).Messages {
			out.WriteString(m.Text + "\n")
		}
		return out.String()
	}
	if got := texts(parent.ID); strings.Contains(got, forked) || !strings.Contains(got, after) {
		l.t.Errorf("the parent's conversation has\n%s", got)
	}
	if got := texts(copied.ID); !strings.Contains(got, forked) || strings.Contains(got, after) {
		l.t.Errorf("the copy has\n%s", got)
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", l.arm("two").PID))
	if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), "FORKED_WORD=octopus") {
		l.t.Errorf("the fork has not the variables of the parent: %v", err)
	}
}

// TestM20AForkIsRefusedWhileTheParentWorks: while the parent is working, a fork must start nothing,
// and the error must be one line.
func TestM20AForkIsRefusedWhileTheParentWorks(t *testing.T) {
	t.Parallel()
	l := newParent(t, "claude-code")
	refused := func(exit int, code coleo.Code, want string, args ...string) {
		t.Helper()
		e := l.fails(exit, append([]string{"arm", "fork"}, args...)...)
		if e.Code != code || !strings.Contains(e.Message, want) || strings.Contains(e.Message, "\n") {
			t.Errorf("fork %v: %+v, want %s with %q", args, e, code, want)
		}
		if r := l.run("arm", "status", "two"); r.code != 4 {
			t.Errorf("after fork %v, there is an arm two: %v", args, r)
		}
	}
	refused(4, coleo.ENotFound, "has no conversation yet", "one", "-n", "two")
	refused(4, coleo.ENotFound, `no arm called "nobody"`, "nobody", "-n", "two")
	l.says("one", conformance.Nonce())
	l.must("arm", "prompt", "one", "count to 200 every 50ms")
	refused(11, coleo.EBusy, "nothing was done", "one", "-n", "two")
	l.must("arm", "interrupt", "one")
	l.wait("one", coleo.Idle)
	refused(5, coleo.EConflict, "already exists", "one", "-n", "one")
	l.asks("some.txt")
	refused(6, coleo.EBlocked, "nothing was done", "one", "-n", "two")
	l.must("arm", "deny", "one")
	l.wait("one", coleo.Idle)

	l.must("arm", "kill", "one") // the conversation must outlive its arm
	word := conformance.Nonce()
	l.must("arm", "fork", "one", "-n", "two")
	l.says("two", word)
	l.must("arm", "fork", "two", "-n", "three") // a fork of a fork must be possible
	if !strings.Contains(l.must("arm", "status", "three"), "arm two (conversation "+l.arm("two").SessionID) {
		t.Error("the fork of a fork does not name its parent")
	}
}

func TestM20AHarnessThatCannotForkSaysSo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	e := f.fails(2, "arm", "fork", f.name, "-n", "two")
	if e.Code != coleo.EUnsupported || !strings.HasPrefix(e.Message,
		"nothing was started: Coleo knows no way to copy a conversation") {
		t.Errorf("a fork of the fake agent CLI: %+v", e)
	}
}
