package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// armOutcome is the JSON that coleo prints about one arm.
type armOutcome struct {
	Arm    string          `json:"arm"`
	Done   bool            `json:"done"`
	Result json.RawMessage `json:"result"`
	Error  *coleo.Error    `json:"error"`
}

// outcomes runs a verb for several arms. The verb must exit with the given code. It returns the
// outcome for each arm.
func (w *world) outcomes(code int, args ...string) map[string]armOutcome {
	w.t.Helper()
	r := w.run(append([]string{"--json"}, args...)...)
	var body struct {
		Arms []armOutcome `json:"arms"`
	}
	if err := json.Unmarshal([]byte(r.out), &body); err != nil || r.code != code {
		w.t.Fatalf("%v\nwant exit %d and a list of arms", r, code)
	}
	out := map[string]armOutcome{}
	for _, o := range body.Arms {
		out[o.Arm] = o
	}
	return out
}

func TestAVerbForSeveralArmsTellsWhatCameOfEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	a, b, c := w.spawnFake("ada"), w.spawnFake("bob"), w.spawnFake("cyn")
	for _, args := range [][]string{{"arm", "kill"}, {"arm", "kill", "ada", "--all"},
		{"arm", "approve", "ada", "bob"}} {
		w.fails(2, args...)
	}
	a.must("arm", "prompt", a.name, "pause 60s")
	for _, o := range w.outcomes(0, "arm", "interrupt", "--all") {
		if !o.Done {
			t.Errorf("%+v", o)
		}
	}
	w.wait(a.name, coleo.Idle)
	got := w.outcomes(4, "arm", "kill", "ada", "nobody", "bob", "ada")
	if len(got) != 3 || !got["ada"].Done || !got["bob"].Done || got["nobody"].Error == nil ||
		got["nobody"].Error.Code != coleo.ENotFound {
		t.Errorf("kill = %+v", got)
	}
	if runs(a.pid) || runs(b.pid) || !runs(c.pid) {
		t.Errorf("after the kill of ada and bob these run: %v, %v, %v", runs(a.pid), runs(b.pid), runs(c.pid))
	}
	if got := w.outcomes(5, "arm", "remove", "ada", "cyn"); !got["ada"].Done || got["cyn"].Error == nil {
		t.Errorf("remove = %+v", got)
	}
	if got := w.outcomes(0, "arm", "recover", "--stopped", "--harness", "fake"); len(got) != 1 || !got["bob"].Done {
		t.Errorf("recover --stopped = %+v", got)
	}
	b.checkAnswer("at once") // after recover, the arm must accept prompts at once
	if got := w.outcomes(0, "arm", "kill", "--host", "nowhere"); len(got) != 0 {
		t.Errorf("kill --host nowhere = %+v", got)
	}
	if out := w.must("arm", "kill", "--host", w.arm("bob").AgentID); !strings.Contains(out, "bob  yes   Killed bob") ||
		!strings.Contains(out, "cyn  yes   Killed cyn") {
		t.Errorf("kill --host says\n%s", out)
	}
	if got := w.outcomes(0, "arm", "remove", "--stopped"); len(got) != 2 {
		t.Errorf("remove --stopped = %+v", got)
	}
}

// recover must return only when an arm that starts slowly accepts prompts.
func TestRecoverReturnsWhenTheArmCanBePrompted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.workdir("slow", fakeagent.Script{Start: []string{"pause 2s"}})
	w.must("arm", "spawn", "-n", "slow", "-w", dir, "--harness", "fake")
	f := &fake{world: w, name: "slow", workdir: dir}
	f.must("arm", "kill", f.name)
	if reply := decode[wire.SpawnReply](w, "arm", "recover", f.name); reply.Arm.State != coleo.Idle {
		t.Errorf("recover returns when the arm is %s, want idle", reply.Arm.State)
	}
	f.checkAnswer("at once")
	f.must("arm", "kill", f.name)
	if reply := decode[wire.SpawnReply](w, "arm", "recover", f.name, "--no-wait"); reply.Arm.State == coleo.Idle {
		t.Error("recover --no-wait waits")
	}
}

func TestAnArmGetsAnotherName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := w.spawnFake("one")
	w.spawnFake("two")
	f.checkAnswer("before")
	if e := w.fails(5, "arm", "rename", "one", "two"); e.Code != coleo.EConflict ||
		!strings.Contains(e.Message, "nothing was renamed") {
		t.Errorf("a name that is taken: %+v", e)
	}
	w.fails(2, "arm", "rename", "one", "a b")
	w.fails(4, "arm", "rename", "nobody", "three")
	w.must("arm", "rename", "one", "three")
	w.fails(4, "arm", "status", "one")
	f.name = "three"
	f.checkAnswer("after")
	w.kill9(w.onlyProcess("agent"))
	w.must("up")
	w.wait("three", coleo.Idle)
	f.checkAnswer("after the host agent was started anew")
	if out := w.must("arm", "list"); !strings.Contains(out, "\nthree ") || strings.Contains(out, "\none ") {
		t.Errorf("list says\n%s", out)
	}
}

// A person sets labels of arms and selects arms by them. The labels must survive a restart of serve
// and the next start of the arm.
func TestLabelsSelectArms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	a, b := w.spawnFake("ada"), w.spawnFake("bob")
	made := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "cyn", "-w", w.workdir("cyn", fakeagent.Script{}),
		"--harness", "fake", "--label", "team=a,tier=low")
	if got := made.Arm.Labels.String(); got != "team=a,tier=low" ||
		strings.Contains(w.must("arm", "list", "--sort", "name", "-l", "team=a"), "ada") {
		t.Errorf("cyn has the labels %q", got)
	}
	w.must("arm", "label", "ada", "team=a", "old=x")
	w.must("arm", "label", "ada", "old-")
	w.must("arm", "label", "bob", "team=b")
	for _, args := range [][]string{{"arm", "label"}, {"arm", "label", "ada", "x"}, {"arm", "list", "-l", "team="},
		{"arm", "kill", "-l", "team-"}, {"arm", "kill", "-l", ""}, {"arm", "label", "ada", "k=a b"},
		{"arm", "spawn", "-n", "dora", "-w", a.workdir, "--harness", "fake", "--label", "a=b=c"}} {
		w.fails(2, args...)
	}
	w.fails(4, "arm", "label", "nobody", "k=v")
	if out := w.must("arm", "list", "--sort", "name", "-l", "team=a"); !strings.Contains(out, "team=a,tier=low") ||
		!strings.Contains(out, "ada") || strings.Contains(out, "bob") {
		t.Errorf("arm list -l:\n%s", out)
	}
	if out := w.must("arm", "label", "ada"); !strings.Contains(out, "team=a") || strings.Contains(out, "old") {
		t.Errorf("arm label prints %q", out)
	}
	if got := w.outcomes(0, "arm", "prompt", "-l", "team=a", "say hello"); len(got) != 2 || !got["ada"].Done ||
		!got["cyn"].Done {
		t.Errorf("prompt -l = %+v", got)
	}
	w.fails(2, "arm", "prompt", "-l", "team=a", "--wait", "say hello")
	if got := w.outcomes(0, "arm", "wait", "-l", "team"); len(got) != 3 || !got["bob"].Done {
		t.Errorf("wait -l = %+v", got)
	}
	if out := w.must("arm", "kill", "-l", "team=nobody"); !strings.Contains(out, "No arm matches: nothing was done.") {
		t.Errorf("kill with a selector that fits no arm says %q", out)
	}
	if got := w.outcomes(0, "arm", "kill", "--selector", "team=a,old!=x", "-l", "!old", "--harness",
		"fake"); len(got) != 2 || !got["ada"].Done ||
		!got["cyn"].Done || runs(a.pid) || !runs(b.pid) {
		t.Errorf("kill --selector = %+v", got)
	}
	w.must("arm", "label", "ada", "team=c")
	w.fails(2, "arm", "spawn", "-n", "ada", "--label", "team=d")
	w.must("arm", "recover", "ada")
	if got := w.arm("ada").Labels.String(); got != "team=c" {
		t.Errorf("after the next start, ada has %q", got)
	}
	if told := w.events("ada", coleo.EventLabels); len(told) != 3 {
		t.Errorf("the log tells the labels of ada %d times, want 3", len(told))
	}
}

// A lost serve.db must cost no labels: neither those from the arm's start, nor those that the user
// has set since.
func TestLabelsOutliveALostDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, name := range []string{"ada", "bob"} {
		w.must("arm", "spawn", "-n", name, "-w", w.workdir(name, fakeagent.Script{}), "--harness", "fake", "--label",
			"team=a")
	}
	w.must("arm", "label", "bob", "team=b", "k=v")
	w.must("down")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(w.path("state/serve.db" + suffix))
	}
	w.must("up")
	until(t, "serve knows the arms again", func() bool { // serve learns the names last
		return w.run("arm", "status", "ada").code == 0 && w.run("arm", "status", "bob").code == 0
	})
	if a, b := w.arm("ada").Labels.String(), w.arm("bob").Labels.String(); a != "team=a" || b != "k=v,team=b" {
		t.Errorf("ada has %q and bob %q", a, b)
	}
	if got := w.outcomes(0, "arm", "kill", "-l", "team!=b"); len(got) != 1 || !got["ada"].Done {
		t.Errorf("kill -l = %+v", got)
	}
}
