package host

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// oneTask starts an arm with a first prompt. The arm ends when its work is done.
func (s *stage) oneTask(name, prompt string) string {
	s.t.Helper()
	o := s.order(name)
	o.Config.Workdir, o.Config.EndWhenDone = s.workdir(name), true
	id := must[bus.ArmReport](s, bus.OpSpawn, o).ID
	s.awaitState(id, coleo.Idle)
	s.prompt(id, prompt)
	return id
}

// doneTold returns how often the log says that the arm ends because its work is done.
func (s *stage) doneTold(id string) (n int) {
	s.t.Helper()
	for _, e := range s.events(id, coleo.EventInfo) {
		var r coleo.Remark
		s.check(json.Unmarshal(e.Payload, &r))
		if strings.Contains(r.Text, "its work is done") {
			n++
		}
	}
	return n
}

func TestAnArmEndsWhenItsWorkIsDone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.oneTask("ada", "pause 10m")
	s.followUp(id, "say last-n41")
	if s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"}); s.doneTold(id) > 0 {
		t.Fatal("an arm ends while it works")
	}
	must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 1)
	s.prompt(id, "say by-hand")
	s.awaitRuns(id, 2)
	if s.doneTold(id) > 0 {
		t.Fatal("an arm with a paused queue ends")
	}
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.awaitState(id, coleo.Dead)
	s.awaitPrompted("ada", "pause 10m", "say by-hand", "say last-n41")
	if ends, told := s.ends(id), s.doneTold(id); len(ends) != 3 || told != 1 {
		t.Errorf("the runs ended as %+v, and the log says %d times that the work is done", ends, told)
	}
	s.refused(coleo.EExited, bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "too late"}})
}

// An arm with --end-when-done must not end after a turn that a person has interrupted. An arm without this
// option must not end after a turn that finishes.
func TestAnArmWhoseWorkIsNotDoneStays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.oneTask("ada", "pause 10m")
	must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 1)
	s.awaitState(id, coleo.Idle)
	if s.doneTold(id) > 0 {
		t.Error("an arm ends after a turn that a person has interrupted")
	}
	other := s.arm("eve")
	s.prompt(other, "say hello")
	s.awaitRuns(other, 1)
	if s.doneTold(other) > 0 {
		t.Error("an arm ends without --end-when-done")
	}
}

// TestTheEndOfAnArmWhoseWorkIsDoneIsStoredFirst delays the end of the arm. The record in the
// database must already order the end, because the next host agent would read it after a kill at
// this moment.
func TestTheEndOfAnArmWhoseWorkIsDoneIsStoredFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.oneTask("ada", "pause 300ms")
	a, err := s.host.arm(id)
	s.check(err)
	release := a.begin()
	s.until("the log says that the arm ends", func() bool { return s.doneTold(id) == 1 })
	r, err := s.db.Arm(t.Context(), id)
	s.check(err)
	if r.Desired != coleo.DesiredStopped || r.Status == coleo.StatusStopped {
		t.Errorf("the record is %s and %s, want a running arm that is to be stopped", r.Desired, r.Status)
	}
	s.refused(coleo.EExited, bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "too late"}})
	s.followUp(id, "say too-late")
	s.checkNothingSent(id, "ada", 1)
	release()
	s.awaitState(id, coleo.Dead)
	s.awaitPrompted("ada", "pause 300ms")
}
