package host

import (
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// Two prompts wait in the queue when the database is copied. One is sent, and then the older copy is put back. The
// host agent must not send that prompt a second time. It must still send the other one.
func TestAnOlderDatabaseBringsNoSentPromptBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
	s.followUp(id, "say one")
	later := s.followUp(id, "say two")
	var older []byte
	s.whileDown(func() { older = s.copyDB() })
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueRemoved, ID: later})
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.awaitPrompted("ada", "say one")
	s.awaitRuns(id, 1)
	s.whileDown(func() { s.restoreDB(older) })
	s.awaitState(id, coleo.Idle)
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.followUp(id, "say three")
	s.until("the queue is empty", func() bool { return len(s.queue(id, coleo.QueueOrder{}).Entries) == 0 })
	s.awaitPrompted("ada", "say one", "say three")
}

// A prompt waits in the queue when the database is copied. The arm is started again, and then the older copy is put
// back. The prompt must not be lost.
func TestAnOlderDatabaseKeepsThePromptsOfAnEarlierStart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
	s.followUp(id, "say one")
	var older []byte
	s.whileDown(func() { older = s.copyDB() })
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.arm("ada")
	if q := s.queue(id, coleo.QueueOrder{}); len(q.Entries) != 1 || q.Paused == "" {
		t.Fatalf("after the second start the queue is %+v", q)
	}
	s.whileDown(func() { s.restoreDB(older) })
	s.awaitState(id, coleo.Idle)
	if q := s.queue(id, coleo.QueueOrder{}); len(q.Entries) != 1 || q.Paused == "" {
		t.Fatalf("with the older database the queue is %+v, want the prompt and a pause", q)
	}
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.awaitPrompted("ada", "say one")
}
