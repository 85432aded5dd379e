package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// subarmKills is how many subarms are started while processes are killed. `make soak` makes it
// larger.
var subarmKills = flag.Int("subarm-kills", 6, "subarms that are started while processes are killed")

// kid is a subarm of the arm "boss". Its agent CLI is the fake one.
type kid struct {
	*fake
	arm coleo.Arm
}

// asksForKid makes the model of boss request a subarm, and returns the question that a person must
// answer.
func (w *world) asksForKid(s *toolServer, own string) coleo.Suspension {
	w.t.Helper()
	w.check(os.MkdirAll(filepath.Join(w.path("work-boss"), own), 0o700))
	s.call("spawn_arm", map[string]any{"name": own, "prompt": "say " + own, "folder": own})
	return w.asking("boss", 1).Suspensions[0]
}

// kid waits for the row of boss's subarm and returns the subarm.
func (w *world) kid(own string) (k kid) {
	w.t.Helper()
	k.fake = &fake{world: w, name: "boss." + own, workdir: filepath.Join(w.path("work-boss"), own)}
	k.arm = w.arm(k.name)
	return k
}

// agentCLIs returns how many agent CLIs work in the subarm's folder.
func (k kid) agentCLIs() (n int) {
	for _, p := range k.processes() {
		if filepath.Base(p.argv[0]) == "fakeagent" && slices.Contains(p.argv, k.workdir) {
			n++
		}
	}
	return n
}

// checkOnce checks that there is exactly one subarm, and that its prompt has arrived once or is
// reported as lost. If a kill of the host agent during the start also killed the agent CLI,
// await_arm must report that.
func (k kid) checkOnce(boss coleo.Arm, told string) {
	k.t.Helper()
	var prompts []string
	if _, err := os.Stat(filepath.Join(k.workdir, fakeRecord)); err == nil {
		prompts = k.texts(fakeagent.Prompted)
	}
	lost, ended := len(k.events(k.name, coleo.EventPromptLost)), strings.Contains(told, "has ended")
	switch {
	case ended && len(prompts) == 0 && k.agentCLIs() == 0:
		k.t.Logf("%s has died before its prompt", k.name)
	case len(prompts)+lost != 1 || lost == 0 && !strings.Contains(told, "finished") || k.agentCLIs() != 1:
		k.t.Errorf("%s got the prompts %q, %d are lost, it has %d agent CLIs, and await_arm says %s", k.name, prompts, lost,
			k.agentCLIs(), told)
	}
	if starts := len(k.events(k.name, coleo.EventSpawned)); k.arm.ParentArmID != boss.ID || starts > 1 && !ended {
		k.t.Errorf("%s: parent %q, started %d times", k.name, k.arm.ParentArmID, starts)
	}
}

// Serve and the host agent are killed at random moments after a person has approved a subarm. There
// must be one subarm, never two. Its prompt must arrive once, or be reported as lost. The model
// must receive the result of its call.
func TestM19OneSubarmWhateverIsKilled(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	w := newWorld(t, "")
	boss := w.spawnTooled("boss")
	s := w.toolServer(boss)
	for n := range *subarmKills {
		own := fmt.Sprintf("kid%d", n)
		q := w.asksForKid(s, own)
		w.must("arm", "approve", "boss", "--dialog", q.ID)
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond) // kills at a random moment
		for _, verb := range [][]string{{"serve"}, {"agent"}, {"serve", "agent"}, {"agent", "serve"}}[r.IntN(4)] {
			w.kill9(w.onlyProcess(verb))
			time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
		}
		w.must("up")
		if told := s.result(); !strings.Contains(told, "The subarm boss."+own+" has started") {
			t.Fatalf("the model is told %s", told)
		}
		s.call("await_arm", map[string]any{"name": "boss." + own})
		told := s.result()
		w.kid(own).checkOnce(boss, told)
		w.must("arm", "kill", "boss."+own)
	}
	if n := len(w.events("boss", coleo.EventSuspension)); n != *subarmKills {
		t.Errorf("a person was asked %d times for %d subarms", n, *subarmKills)
	}
}

func TestM19APersonDeniesASubarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	s := w.toolServer(w.spawnTooled("boss"))
	q := w.asksForKid(s, "kid")
	if q.Kind != coleo.SuspensionSubarm || !strings.Contains(q.Text,
		"Start the subarm boss.kid (tooled, permission mode ask)") {
		t.Errorf("a person is asked %+v", q)
	}
	if text := w.must("arm", "questions", "boss"); !strings.Contains(text, "Message from the arm boss: say kid") {
		t.Errorf("arm questions does not show the prompt:\n%s", text)
	}
	w.must("arm", "deny", "boss", "--words", "not now")
	if told := s.result(); !strings.Contains(told, "The user denies it. They say: not now") {
		t.Errorf("the model is told %s", told)
	}
	w.fails(4, "arm", "status", "boss.kid")
}

// Coleo checks a model's request for a subarm when the model makes it. It must check the request
// again after a person has approved it, because the subarm's name may be taken meanwhile.
func TestM19AnApprovedSubarmCanBeOneTooMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	s := w.toolServer(w.spawnTooled("boss"))
	q := w.asksForKid(s, "kid")
	w.must("arm", "rename", w.spawnTooled("other").Name, "boss.kid") // meanwhile a person takes the subarm's name
	w.must("arm", "approve", "boss", "--dialog", q.ID)
	if told := s.result(); !strings.Contains(told, `"isError":true`) || !strings.Contains(told, "exists already") {
		t.Errorf("the model is told %s", told)
	}
	if arm := w.arm("boss.kid"); arm.ParentArmID != "" || arm.ID == q.Request.Arm {
		t.Errorf("the arm of the person is %+v", arm)
	}
}

func TestM19AFamilyOfArms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	boss := w.spawnTooled("boss")
	s := w.toolServer(boss)
	w.asksForKid(s, "kid")
	w.must("arm", "approve", "boss")
	s.result()
	k := w.kid("kid")
	if text := w.must("arm", "status", "boss.kid"); !strings.Contains(text, "Subarm of:       boss\n") ||
		k.arm.ParentArmID != boss.ID {
		t.Errorf("arm status does not name the parent:\n%s", text)
	}

	below := w.toolServer(k.arm) // the subarm starts a subarm of its own
	w.check(os.MkdirAll(filepath.Join(k.workdir, "grandkid"), 0o700))
	below.call("spawn_arm", map[string]any{"name": "grandkid", "prompt": "say hi", "folder": "grandkid"})
	w.asking("boss.kid", 1)
	w.must("arm", "approve", "boss.kid")
	below.result()
	deepest := w.toolServer(w.arm("boss.kid.grandkid"))
	deepest.call("spawn_arm", map[string]any{"name": "x", "prompt": "say hi"})
	if told := deepest.result(); !strings.Contains(told, `"isError":true`) && !strings.Contains(told, `"error"`) {
		t.Errorf("at the largest depth spawn_arm = %s", told)
	}

	deepest.call("message_arm", map[string]any{"to": "parent", "text": "say up"})
	w.asking("boss.kid.grandkid", 1)
	w.must("arm", "approve", "boss.kid.grandkid")
	deepest.result()
	until(t, "the message has arrived", func() bool {
		return slices.Contains(k.texts(fakeagent.Prompted), "Message from the arm boss.kid.grandkid: say up")
	})
	s.call("list_arms", nil)
	if told := s.result(); !strings.Contains(told, "boss.kid (subarm)") || strings.Contains(told, "grandkid") {
		t.Errorf("list_arms = %s", told)
	}
	if text := w.must("arm", "list"); !strings.Contains(text, "boss.kid (subarm) ") {
		t.Errorf("arm list does not show the subarm:\n%s", text)
	}
	text := w.must("arm", "kill", "boss")
	if !strings.Contains(text, "its subarms continue to run: boss.kid, boss.kid.grandkid") {
		t.Errorf("arm kill = %s", text)
	}
	if text := w.must("arm", "kill", "--tree", "boss.kid"); !strings.Contains(text, "and its subarms boss.kid.grandkid") ||
		w.arm("boss.kid.grandkid").Status != coleo.StatusStopped {
		t.Errorf("arm kill --tree = %s", text)
	}
}

// A model requests a subarm while there is no host agent. Serve itself must start the subarm. A
// host agent that starts later must take over the parent and the subarm.
func TestM19ASubarmWithoutAHostAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.spawnTooled("none") // spawnTooled also writes the harness
	w.must("arm", "kill", "none")
	w.must("down")
	w.serveAlone()
	boss := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "boss", "-w", w.workdirOf("boss"), "--harness", "tooled",
		"--tools", "all", "--allow-local").Arm
	s := w.toolServer(boss)
	w.asksForKid(s, "kid")
	w.must("arm", "approve", "boss")
	if told := s.result(); !strings.Contains(told, "The subarm boss.kid has started") {
		t.Fatalf("the model is told %s", told)
	}
	k := w.kid("kid")
	if k.arm.AgentID != coleo.LocalHost || k.arm.ParentArmID != boss.ID {
		t.Errorf("the subarm is %+v", k.arm)
	}
	s.call("await_arm", nil)
	if told := s.result(); !strings.Contains(told, "finished") {
		t.Errorf("await_arm = %s", told)
	}
	w.must("up")
	until(t, "the host agent has both arms", func() bool {
		return w.arm("boss").AgentID != coleo.LocalHost && w.arm("boss.kid").AgentID != coleo.LocalHost
	})
	s.call("list_arms", nil)
	if told := s.result(); !strings.Contains(told, "boss.kid (subarm)") {
		t.Errorf("after the move list_arms = %s", told)
	}
}
