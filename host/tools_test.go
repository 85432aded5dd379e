package host

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/door"
	"coleo.dev/registry"
)

// toolArm starts an arm with Coleo's tools. Its fake agent CLI does not call them; the test does.
func (s *stage) toolArm(name string) string {
	s.t.Helper()
	spec, err := os.ReadFile(s.path("harnesses/fake.toml"))
	s.check(err)
	text := strings.Replace(string(spec), `name = "fake"`, `name = "tooled"`, 1)
	text = strings.Replace(text, "[capabilities]\n", "[capabilities]\nmcp = true\n", 1)
	text = strings.Replace(text, "[keys]\n", "[[launch.part]]\nenv = { TOOLS = '{{json .MCPServers}}' }\n[keys]\n", 1)
	s.check(os.WriteFile(s.path("harnesses/tooled.toml"), []byte(text), 0o600))
	s.reg, err = registry.New(s.path("harnesses"), []string{s.path(testprogram.Hold)})
	s.check(err)
	s.restart()
	work := s.path("work-" + name)
	s.check(os.MkdirAll(work, 0o700))
	o := s.order(name)
	o.Harness, o.Config.Workdir, o.Config.Tools = "tooled", work, coleo.ArmTools()
	id := must[bus.ArmReport](s, bus.OpSpawn, o).ID
	s.awaitState(id, coleo.Idle)
	return id
}

func (s *stage) doorOf(id string) string { return filepath.Join(s.dir, "arms", id, door.File) }

type told struct {
	text string
	err  error
}

// callTool calls a tool through the arm's door.
func (s *stage) callTool(id, key, tool, arguments string) <-chan told {
	out := make(chan told, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		text, got, err := door.Client{Path: s.doorOf(id)}.Call(ctx,
			door.Request{Key: key, Tool: tool, Arguments: json.RawMessage(arguments)}, func(string) {})
		if err == nil {
			got()
		}
		out <- told{text, err}
	}()
	return out
}

// asked waits until the log has n open questions of the arm (suspensions), and returns them.
func (s *stage) asked(id string, n int) (out []coleo.Suspension) {
	s.t.Helper()
	s.until("the arm has asked", func() bool { return len(s.events(id, coleo.EventSuspension)) >= n })
	for _, e := range s.events(id, coleo.EventSuspension) {
		w, err := coleo.DecodeWork(e)
		s.check(err)
		out = append(out, w.(coleo.Suspended).Suspension)
	}
	if len(out) != n {
		s.t.Fatalf("the arm has asked %d times, want %d", len(out), n)
	}
	return out
}

func TestACallOfAToolOutlivesTheHostAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.toolArm("one")
	result := s.callTool(id, "k1", coleo.ToolAskUser, `{"question":"Go on?","options":["yes","no"]}`)
	q := s.asked(id, 1)[0]
	s.restart()
	answer := bus.AnswerOrder{Arm: id, ID: q.ID, Decision: coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 1}, By: "me"}
	done := must[coleo.Suspension](s, bus.OpAnswer, answer)
	if r := <-result; r.err != nil || r.text != "The user chooses: yes." || done.By != "me" {
		t.Errorf("the call = %+v, the answer %+v", r, done)
	}
	s.refused(coleo.EStale, bus.OpAnswer, answer)
	if r := <-s.callTool(id, "k1", coleo.ToolAskUser, `{}`); r.text != "The user chooses: yes." {
		t.Errorf("the same call again = %+v", r)
	}
	s.asked(id, 1)
	<-s.callTool(id, "k2", coleo.ToolTaskWrite, `{"tasks":[{"text":"one"}]}`)
	if list := must[[]coleo.Task](s, bus.OpTasks, bus.ArmOrder{Arm: id}); len(list) != 1 || list[0].Text != "one" {
		t.Errorf("its tasks are %+v", list)
	}
}

func TestAnEndedArmHasNoDoorAndAsksNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.toolArm("one")
	result := s.callTool(id, "k1", coleo.ToolAskUser, `{"question":"Go on?"}`)
	q := s.asked(id, 1)[0]
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.until("the door is gone", func() bool { _, err := os.Stat(s.doorOf(id)); return err != nil })
	s.until("the question is withdrawn", func() bool { return len(s.events(id, coleo.EventAnswered)) == 1 })
	s.refused(coleo.EStale, bus.OpAnswer, bus.AnswerOrder{Arm: id, ID: q.ID,
		Decision: coleo.Decision{Choice: coleo.ChoiceAnswer, Words: "yes"}})
	select {
	case r := <-result:
		t.Errorf("the call without a door = %+v, want it to wait", r)
	default:
	}
}

func TestAnArmWithoutToolsHasNoDoor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, err := os.Stat(s.doorOf(s.arm("one"))); err == nil {
		t.Error("an arm without tools has a door")
	}
}

// A person answers a question of an arm that another host has just taken. This host still has the question for a
// moment, but the answer would be deleted with it. So the answer must be refused: the next host asks again.
func TestAnAnswerToAnArmThatHasJustMovedIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.toolArm("one")
	result := s.callTool(id, "k1", coleo.ToolAskUser, `{"question":"Go on?","options":["yes","no"]}`)
	answer := bus.AnswerOrder{Arm: id, ID: s.asked(id, 1)[0].ID, By: "me",
		Decision: coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 1}}
	a, err := s.host.arm(id)
	s.check(err)
	has := func(yes bool) { // sets whether this host has the arm
		a.mu.Lock()
		defer a.mu.Unlock()
		a.gone = !yes
	}
	has(false)
	s.refused(coleo.ENotFound, bus.OpAnswer, answer)
	has(true)
	must[coleo.Suspension](s, bus.OpAnswer, answer)
	if r := <-result; r.err != nil || r.text != "The user chooses: yes." {
		t.Errorf("the call = %+v", r)
	}
}
