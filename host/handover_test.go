package host

import (
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// begins begins to hand the task of an arm over to the arm "two", and returns the order to start that arm.
func (s *stage) begins(id string) bus.SpawnOrder {
	s.t.Helper()
	o := s.successor(id).Spawn
	a, err := s.host.arm(id)
	s.check(err)
	o.Then, err = a.beginHandover(s.t.Context(), coleo.ArmLink{ID: o.ID, Name: "two", Harness: "fake"}, o.First.ID, nil)
	s.check(err)
	return o
}

// Somebody adds a prompt to the queue of a successor that is being started. The start fails. The prompts of the first
// arm go back, and the other prompt must stay.
func TestAFailedHandOverKeepsAPromptThatSomebodyHasAddedForTheSuccessor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id, queued := s.one()
	o := s.begins(id)
	o.Config.Workdir = s.path("nowhere")
	_, err := s.host.spawn(t.Context(), o)
	if err == nil {
		t.Fatal("the successor was started")
	}
	own := s.followUp(o.ID, "say mine")
	a, armErr := s.host.arm(id)
	s.check(armErr)
	s.check(s.host.failHandover(t.Context(), a, err.Error()))
	if got := idsOf(s.queue(o.ID, coleo.QueueOrder{}).Entries); !slices.Equal(got, []string{own}) {
		t.Errorf("the successor has the prompts %q, want %q", got, own)
	}
	if got := idsOf(s.queue(id, coleo.QueueOrder{}).Entries); !slices.Equal(got, queued) {
		t.Errorf("the first arm has the prompts %q, want %q", got, queued)
	}
}

// Serve is killed after it has started the successor of an arm of host local, and after the successor has moved to the
// host agent. The next serve must leave the task with the successor. Otherwise both arms would do the same prompts.
func TestASuccessorThatHasMovedKeepsTheTask(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id, _ := local.one()
	o := local.begins(id)
	_, err := local.host.spawn(t.Context(), o)
	s.check(err)
	local.awaitRuns(o.ID, 3)
	s.moveToHostAgent(local, o.ID)
	local.restart()
	list := local.handovers(id)
	if last := list[len(list)-1]; last.Step != coleo.HandoverDone {
		t.Errorf("the log tells %+v, want that the successor has started", last)
	}
	if q := local.queue(id, coleo.QueueOrder{}); len(q.Entries) > 0 || q.Handover == nil || q.Handover.Open {
		t.Errorf("the first arm has the queue %+v", q)
	}
}
