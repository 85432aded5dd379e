package host

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
)

// successor returns the order that hands the task of an arm over to the arm "two".
func (s *stage) successor(first string) bus.SucceedOrder {
	s.t.Helper()
	o := s.order("two")
	o.Config.Workdir = s.workdir("two")
	o.Config.Succeeds = &coleo.Predecessor{ArmLink: coleo.ArmLink{ID: first, Name: "one", Harness: "fake"}}
	o.First = &coleo.Queued{ID: "task", Text: "say task"}
	return bus.SucceedOrder{Arm: first, Spawn: o}
}

func (s *stage) handovers(id string) []coleo.HandoverChange {
	s.t.Helper()
	var out []coleo.HandoverChange
	for _, e := range s.events(id, coleo.EventHandover) {
		var c coleo.HandoverChange
		s.check(json.Unmarshal(e.Payload, &c))
		out = append(out, c)
	}
	return out
}

// one starts the arm "one" with two prompts in its paused queue.
func (s *stage) one() (id string, queued []string) {
	s.t.Helper()
	id = s.arm("one")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "by me"})
	return id, []string{s.followUp(id, "say 1"), s.followUp(id, "say 2")}
}

// tookBack checks that the arm has its former queue again, and that the order can be repeated.
func (s *stage) tookBack(id string, queued []string) {
	s.t.Helper()
	q := s.queue(id, coleo.QueueOrder{})
	if !slices.Equal(idsOf(q.Entries), queued) || q.Paused != "by me" || q.Handover != nil {
		s.t.Errorf("the first arm has the queue %+v", q)
	}
	if list := s.handovers(id); list[len(list)-1].Step != coleo.HandoverFailed || list[len(list)-1].Why == "" ||
		!slices.Equal(list[len(list)-1].Moved, queued) {
		s.t.Errorf("its events tell %+v", list)
	}
	if two, err := s.host.arm(s.id("two")); err == nil && len(armrecord.Queue(&two.record).Entries) > 0 {
		s.t.Errorf("the successor has the queue %+v", two.record.Queue)
	}
}

// handedOver checks that the successor does the task, and then the prompts of the queue.
func (s *stage) handedOver(id string, queued []string) {
	s.t.Helper()
	two := s.id("two")
	s.awaitRuns(two, 3)
	s.awaitPrompted("two", "say task", "say 1", "say 2")
	s.checkNothingSent(id, "one", 0)
	q := s.queue(id, coleo.QueueOrder{})
	if len(q.Entries) > 0 || q.Paused == "" || q.Handover == nil || q.Handover.Open || q.Handover.Arm != two {
		s.t.Errorf("the first arm has the queue %+v", q)
	}
	want := coleo.HandoverChange{Step: coleo.HandoverReceived, From: coleo.ArmLink{ID: id, Name: "one", Harness: "fake"},
		To: coleo.ArmLink{ID: two, Name: "two", Harness: "fake"}, Run: "task", Moved: queued}
	got := s.handovers(two)
	if len(got) != 1 || got[0].Step != want.Step || got[0].From != want.From || got[0].To != want.To ||
		got[0].Run != want.Run || !slices.Equal(got[0].Moved, queued) {
		s.t.Errorf("the events of the successor tell %+v, want %+v", got, want)
	}
	list := s.handovers(id)
	if len(list) != 2 || list[0].Step != coleo.HandoverBegun || list[1].Step != coleo.HandoverDone ||
		list[1].To != want.To || list[0].From != want.From {
		s.t.Errorf("the events of the first arm tell %+v", list)
	}
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.checkNothingSent(id, "one", 0)
}

func TestATaskGoesToASuccessorWithTheQueueOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id, queued := s.one()
	report := must[bus.SucceedReport](s, bus.OpSucceed, s.successor(id))
	if report.Name != "two" || !slices.Equal(report.Moved, queued) {
		t.Errorf("the report is %+v", report)
	}
	s.handedOver(id, queued)
}

func TestAHandOverThatCannotBeDoneLeavesTheFirstArmAsItWas(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id, queued := s.one()
	for name, change := range map[string]func(*bus.SucceedOrder){
		"no such harness": func(o *bus.SucceedOrder) { o.Spawn.Harness = "none" },
		"no such folder":  func(o *bus.SucceedOrder) { o.Spawn.Config.Workdir = s.path("nowhere") },
		"a name in use":   func(o *bus.SucceedOrder) { o.Spawn.Name = "one" },
		"no room":         func(*bus.SucceedOrder) { s.host.MaxArms = 1 },
		"lost variables":  func(o *bus.SucceedOrder) { o.Spawn.Config.EnvNames = []string{"LOST"} },
	} {
		s.host.MaxArms = 20
		o := s.successor(id)
		change(&o)
		if err := s.ask(bus.OpSucceed, o, nil); err == nil {
			t.Fatalf("%s: the successor was started", name)
		}
		s.tookBack(id, queued)
	}
	s.host.MaxArms = 20
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.awaitRuns(id, 2)
	s.awaitPrompted("one", "say 1", "say 2")
}

func TestAnArmThatWorksKeepsItsTask(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("one")
	s.prompt(id, "pause 10m")
	s.awaitState(id, coleo.Processing)
	s.refused(coleo.EBusy, bus.OpSucceed, s.successor(id))
	must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 1)
	s.prompt(id, "dialog date")
	s.awaitState(id, coleo.WaitingApproval)
	s.refused(coleo.EBlocked, bus.OpSucceed, s.successor(id))
	o := s.successor(id)
	o.Spawn.First = nil
	s.refused(coleo.EInvalid, bus.OpSucceed, o)
	if q := s.queue(id, coleo.QueueOrder{}); q.Paused != "" || q.Handover != nil {
		t.Errorf("the queue is %+v", q)
	}
}

// The host agent is killed between two steps of a hand-over. The next host agent must complete the hand-over,
// or must give the first arm its queue back.
func TestAKillBetweenTheStepsOfAHandOverLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	begun := func(s *stage, id string) bus.SpawnOrder {
		o := s.successor(id)
		a, err := s.host.arm(id)
		s.check(err)
		o.Spawn.Then, err = a.beginHandover(t.Context(), coleo.ArmLink{ID: o.Spawn.ID, Name: "two", Harness: "fake"},
			o.Spawn.First.ID, nil)
		s.check(err)
		return o.Spawn
	}
	t.Run("before the start", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		id, queued := s.one()
		begun(s, id)
		s.refused(coleo.EBusy, bus.OpQueue, bus.QueueOrder{Arm: id,
			QueueOrder: coleo.QueueOrder{Step: coleo.QueueResumed}})
		s.restart()
		s.tookBack(id, queued)
		must[bus.SucceedReport](s, bus.OpSucceed, s.successor(id))
		s.awaitPrompted("two", "say task", "say 1", "say 2")
	})
	t.Run("during the start", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		id, queued := s.one()
		order := begun(s, id)
		order.First.Text = "pause 10m" // a long turn: the kill comes during it, and not while the prompt is being sent
		_, err := s.host.spawn(t.Context(), order)
		s.check(err)
		two, err := s.host.arm(order.ID)
		s.check(err)
		handle := two.record.Handle
		s.halt() // while no host agent runs, the test now undoes the writes after the intended start
		db, err := openHostDB(s)
		s.check(err)
		record, err := db.Arm(t.Context(), order.ID)
		s.check(err)
		record.Handle, record.Queue = nil, &coleo.Queue{Entries: append([]coleo.Queued{*order.First}, order.Then...)}
		s.check(db.PutArm(t.Context(), record))
		s.check(db.Close())
		s.check(os.Remove(s.path("arms/" + order.ID + "/arm.json")))
		s.endArm(*handle)
		s.start()
		s.tookBack(id, queued)
	})
	t.Run("after the start", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		id, queued := s.one()
		_, err := s.host.spawn(t.Context(), begun(s, id))
		s.check(err)
		s.awaitRuns(s.id("two"), 3) // wait, because a kill while a prompt is being sent would lose the prompt
		s.restart()
		s.handedOver(id, queued)
	})
}

// An order to hand a task over can also report that serve never ordered the start of the successor. If the host
// agent does not know the successor, it must record once that the hand-over has failed. If it has the successor
// or has begun the hand-over, it must refuse the report.
func TestATaskWhoseSuccessorWasNeverOrderedIsToldAsNotHandedOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id, queued := s.one()
	never := s.successor(id)
	never.Spawn.First, never.Failed = nil, "serve ended"
	must[struct{}](s, bus.OpSucceed, never)
	if list := s.handovers(id); len(list) != 1 || list[0].Step != coleo.HandoverFailed || list[0].Why != "serve ended" ||
		list[0].To.ID != never.Spawn.ID {
		t.Errorf("the log tells %+v", list)
	}
	if q := s.queue(id, coleo.QueueOrder{}); !slices.Equal(idsOf(q.Entries), queued) {
		t.Errorf("the first arm has the queue %+v", q)
	}
	must[bus.SucceedReport](s, bus.OpSucceed, s.successor(id)) // the order comes after all
	s.refused(coleo.EConflict, bus.OpSucceed, never)
	s.awaitPrompted("two", "say task", "say 1", "say 2")
	if list := s.handovers(id); len(list) != 3 || list[2].Step != coleo.HandoverDone {
		t.Errorf("after the late order the log tells %+v", list)
	}
}
