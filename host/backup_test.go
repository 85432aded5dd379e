package host

import (
	"os"
	"slices"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// backUp returns a copy of the database that is marked as a backup, as `coleo backup` writes it.
func (s *stage) backUp() (raw []byte) {
	s.t.Helper()
	path := s.path("backup.db")
	s.check(store.Copy(s.t.Context(), s.path("host.db"), path))
	s.check(store.MarkBackup(s.t.Context(), path))
	raw, err := os.ReadFile(path)
	s.check(err)
	s.check(os.Remove(path))
	return raw
}

// A backup is made during a turn. Then the turn is interrupted, and another prompt is answered. The backup is put back.
// The run of the first prompt must not end with the answer to the other one.
func TestARunInABackupGetsNoAnswerOfAnotherPrompt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	first := s.prompt(id, "pause 10m")
	older := s.backUp()
	must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 1)
	s.prompt(id, "say other")
	s.awaitRuns(id, 2)
	s.whileDown(func() { s.restoreDB(older) })
	s.awaitRuns(id, 1)
	if end := s.ends(id)[first.ID]; end.Answer != "" || end.Outcome != coleo.OutcomeUnproven {
		t.Errorf("the run has ended with %+v, want no answer and the outcome %s", end, coleo.OutcomeUnproven)
	}
	s.restart() // a second start must change nothing, because the backup is no longer new
	s.prompt(id, "say again")
	s.awaitRuns(id, 2)
}

// A backup is made while an arm is parked. Then the arm continues. The backup is put back. The arm must not be told to
// continue once more, before a person has resumed its queue.
func TestAParkedArmInABackupDoesNotContinueByItself(t *testing.T) {
	t.Parallel()
	s, id, clock := limitStage(t, "")
	s.meets(id, "weekly limit, resets in 6 days")
	older := s.backUp()
	clock.advance(7 * 24 * time.Hour)
	s.look(id)
	s.awaitRuns(id, 2)
	s.whileDown(func() { s.restoreDB(older) })
	s.awaitState(id, coleo.Idle)
	s.checkNothingSent(id, "ada", 2)
	if q := s.queue(id, coleo.QueueOrder{}); q.Paused != olderCopy {
		t.Errorf("the queue is %+v, want a pause because of the backup", q)
	}
	s.restart()
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.until("it continues", func() bool { return len(s.prompted("ada")) == 3 })
}

// A backup is made, and then an arm's task and its queue go to another arm. The backup is put back. The first arm must
// not send the prompts that the other arm has sent.
func TestAQueueInABackupWaitsAfterAHandOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("one")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "by me"})
	queued := []string{s.followUp(id, "say 1"), s.followUp(id, "say 2")}
	a, err := s.host.arm(id)
	s.check(err)
	lease, err := a.lease.Take(t.Context(), "", "me", "one") // nothing is sent from the resumed queue
	s.check(err)
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	older := s.backUp()
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "by me"})
	_, err = s.host.lease(t.Context(), bus.LeaseOrder{Arm: id, ID: lease.ID, Release: true})
	s.check(err)
	must[bus.SucceedReport](s, bus.OpSucceed, s.successor(id))
	s.awaitRuns(s.id("two"), 3)
	s.whileDown(func() { s.restoreDB(older) })
	s.awaitState(id, coleo.Idle)
	s.checkNothingSent(id, "one", 0)
	if q := s.queue(id, coleo.QueueOrder{}); !slices.Equal(idsOf(q.Entries), queued) || q.Paused != olderCopy {
		t.Errorf("the queue is %+v, want both prompts and a pause because of the backup", q)
	}
}
