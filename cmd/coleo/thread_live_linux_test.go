package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/wire"
)

// newThreads starts two arms with Claude Code in the same folder. Each arm has answered one prompt
// with its own word.
func newThreads(t *testing.T) (l *live, endpoint string, ids, nonces [2]string) {
	t.Helper()
	needClaude(t)
	l = &live{world: newWorld(t, "")}
	l.model = startModel(t)
	endpoint = proxyModel(t, l.model.URL(), func(body string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bodies = append(l.bodies, body)
	})
	l.workdir = l.workdirOf("shared")
	home := l.path("agent-home")
	l.check(os.MkdirAll(home, 0o700))
	for i, name := range []string{"one", "two"} {
		reply := decode[wire.SpawnReply](l.world, "arm", "spawn", "-n", name, "-w", l.workdir, "--harness", "claude-code",
			"--profile", "hermetic", "--home", home, "--endpoint", endpoint, "--model", "mock-1")
		ids[i], nonces[i] = reply.Arm.SessionID, conformance.Nonce()
		l.says(name, nonces[i])
	}
	return l, endpoint, ids, nonces
}

// says sends a prompt and checks that the answer is `word`.
func (l *live) says(name, word string) {
	l.t.Helper()
	end := decode[coleo.RunEnd](l.world, "arm", "prompt", name, "--wait", "say "+word)
	if end.Answer != word {
		l.t.Fatalf("the answer of %s to say %s is %+v", name, word, end)
	}
}

// thread returns the conversation that an arm has.
func (l *live) thread(name string) coleo.Thread {
	l.t.Helper()
	return decode[coleo.Thread](l.world, "arm", "thread", name)
}

func TestM6AThreadIsFoundByItsAnswerAndContinuedByAnotherArm(t *testing.T) {
	t.Parallel()
	l, endpoint, ids, nonces := newThreads(t)
	if got := l.search(nonces[0]); fullText && strings.Join(got, " ") != ids[0] {
		t.Errorf("the answer %s is found in %v, want %s", nonces[0], got, ids[0])
	}
	if got := l.thread("one"); got.ID != ids[0] || got.Arm != "one" || got.Folder != l.workdir || got.Home == "" {
		t.Errorf("the thread of arm one is %+v", got)
	}
	resume := []string{"thread", "resume", ids[0], "-n", "three", "--endpoint", endpoint, "--model", "mock-1"}
	if e := l.fails(21, resume...); e.Code != coleo.EThreadLocked || !strings.Contains(e.Message, "arm one") {
		t.Errorf("resume while arm one has it: %+v", e)
	}
	if e := l.fails(21, "thread", "delete", ids[0], "--file"); e.Code != coleo.EThreadLocked {
		t.Errorf("delete while arm one has it: %+v", e)
	}
	l.must("arm", "kill", "one")
	reply := decode[wire.SpawnReply](l.world, resume...)
	if reply.Arm.SessionID != ids[0] || reply.Arm.State != coleo.Idle {
		t.Fatalf("the resumed arm is %+v", reply.Arm)
	}
	after := conformance.Nonce()
	l.says("three", after)
	if !l.modelGot("say "+nonces[0], "say "+after) {
		t.Error("no request to the model has both the earlier prompt and the new one")
	}

	l.switches(ids, nonces)

	copied := decode[wire.SpawnReply](l.world, "thread", "clone", ids[0], "-n", "four", "--endpoint", endpoint, "--model",
		"mock-1")
	cloned := conformance.Nonce()
	l.says("four", cloned)
	if !l.modelGot("say "+nonces[0], "say "+cloned) || copied.Arm.SessionID == ids[0] || copied.Arm.SessionID == "" {
		t.Errorf("the copy %s of %s does not know the earlier prompt", copied.Arm.SessionID, ids[0])
	}
	var listed []string
	for _, th := range decode[coleo.ThreadList](l.world, "thread", "list", "--project", l.workdir).Threads {
		listed = append(listed, th.ID)
	}
	if all := strings.Join(listed, " "); !strings.Contains(all, ids[0]) || strings.Contains(all, copied.Arm.SessionID) {
		t.Errorf("the list has %v, want %s and not its copy %s", listed, ids[0], copied.Arm.SessionID)
	}
	l.must("arm", "kill", "four")
	l.must("arm", "recover", "four") // "four" must continue its copy of the conversation, and make no second copy
	if got := l.thread("four"); got.ID != copied.Arm.SessionID || got.Hidden != "fork" {
		t.Errorf("after recover, arm four has %+v, want the copy %s", got, copied.Arm.SessionID)
	}
	if found, _ := filepath.Glob(l.path("agent-home/.claude/projects/*/*.jsonl")); len(found) != 3 {
		t.Errorf("files of conversations: %v, want three", found)
	}
}

// switches makes the arm "three" continue the conversation of the arm "two".
func (l *live) switches(ids, nonces [2]string) {
	l.t.Helper()
	if e := l.fails(21, "arm", "thread", "three", ids[1]); !strings.Contains(e.Message, "arm two") {
		l.t.Errorf("a switch to the thread of arm two: %+v", e)
	}
	l.must("arm", "kill", "two")
	l.must("arm", "prompt", "three", "count to 200 every 50ms")
	if e := l.fails(11, "arm", "thread", "three", ids[1]); e.Code != coleo.EBusy {
		l.t.Errorf("a switch during work: %+v", e)
	}
	l.must("arm", "interrupt", "three")
	l.wait("three", coleo.Idle)
	l.must("arm", "thread", "three", ids[1])
	if got := l.thread("three"); got.ID != ids[1] || got.Arm != "three" {
		l.t.Errorf("after the switch, arm three has %+v, want %s", got, ids[1])
	}
	word := conformance.Nonce()
	l.says("three", word)
	if !l.modelGot("say "+nonces[1], "say "+word) {
		l.t.Error("no request to the model has both the prompt of arm two and the new one")
	}
}

func TestM6ACopyOfACodexThreadKnowsTheEarlierPrompt(t *testing.T) {
	t.Parallel()
	needAgent(t, "codex", "codex")
	l := &live{world: newWorld(t, "")}
	l.model = startModel(t)
	endpoint := proxyModel(t, l.model.URL(), func(body string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bodies = append(l.bodies, body)
	})
	l.must("arm", "spawn", "-n", "one", "-w", l.workdirOf("one"), "--harness", "codex", "--profile", "hermetic", "--home",
		l.home+"-codex", "--endpoint", endpoint, "--model", "mock-1", "--trust-workdir")
	first, second := conformance.Nonce(), conformance.Nonce()
	l.says("one", first)
	until(t, "Codex's record tells the id of the conversation", func() bool { return l.arm("one").SessionID != "" })
	id := l.thread("one").ID
	l.must("thread", "clone", id, "-n", "two", "--endpoint", endpoint, "--model", "mock-1", "--trust-workdir")
	l.says("two", second)
	if !l.modelGot("say "+first, "say "+second) {
		t.Error("no request to the model has both the earlier prompt and the new one")
	}
	until(t, "Codex's record tells the id of the copy", func() bool { return l.arm("two").SessionID != "" })
	if got := l.thread("two"); got.ID == id || got.Hidden != "fork" || got.Arm != "two" {
		t.Errorf("the copy of %s is %+v", id, got)
	}
}
