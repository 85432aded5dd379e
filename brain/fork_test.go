package brain

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// TestM7AThreadOfAnArmOfAnotherHostIsLocked has an arm with a conversation on one host. Serve must
// refuse to start a second arm with this conversation on another host, whose host agent does not
// know the first arm.
func TestM7AThreadOfAnArmOfAnotherHostIsLocked(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.withLocal(func(bus.Op) (any, error) { return nil, nil })
	hold := func(status coleo.Status) {
		_, err := s.db.UpdateArm(t.Context(), "arm-1", func(row *coleo.Arm) error {
			row.SessionID, row.Status = "c1", status
			return nil
		})
		check(t, err)
	}
	var started atomic.Int32
	s.answerWith(bus.OpSpawn, func(context.Context, json.RawMessage) (any, error) {
		started.Add(1)
		return bus.ArmReport{}, nil
	})
	s.alwaysAnswer(bus.OpRemove, nil)
	start := func(recover bool) error {
		_, err := s.brain.Spawn(t.Context(), wire.SpawnRequest{Name: "bob", Harness: "aider", Workdir: "/w",
			Conversation: "c1", Recover: recover})
		return err
	}
	for _, status := range []coleo.Status{coleo.StatusIdle, coleo.StatusBusy, coleo.StatusStarting} {
		hold(status)
		if err := start(true); coleo.ErrorCode(err) != coleo.EThreadLocked || !strings.Contains(err.Error(), "arm ada") {
			t.Errorf("while arm ada is %s: %v", status, err)
		}
	}
	if _, err := s.brain.ChangeThread(t.Context(), "aider", "c1",
		coleo.ThreadChange{Delete: true}); coleo.ErrorCode(err) !=
		coleo.EThreadLocked {
		t.Errorf("a deletion: %v", err)
	}
	if n := started.Load(); n != 0 {
		t.Errorf("the host agent was asked %d times to start an arm", n)
	}
	hold(coleo.StatusStopped)
	if err := start(true); err != nil || started.Load() != 1 {
		t.Errorf("after arm ada has stopped: %v, started %d times", err, started.Load())
	}
}

func TestOneUnreachableHostDoesNotHideTheThreadsOfTheOthers(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	if _, err := s.brain.Threads(t.Context(), coleo.ThreadFilter{}); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("the only host agent is too old: %v", err)
	}
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	same := coleo.Thread{ID: "same", Harness: "h", Path: "/p", Last: at}
	s.alwaysAnswer(bus.OpThreads, coleo.ThreadList{Threads: []coleo.Thread{same, {ID: "new", Last: at.Add(1)}}, Unread: 3})
	s.brain.roster.TakeBeat(bus.Beat{ID: "away", PID: 2, MaxArms: 9})
	out, err := s.brain.Threads(t.Context(), coleo.ThreadFilter{})
	if err != nil || len(out.Failed) != 1 || !strings.HasPrefix(out.Failed[0], "away: ") || out.Unread != 3 ||
		len(out.Threads) != 2 || out.Threads[0].ID != "new" {
		t.Errorf("Threads = %+v, %v", out, err)
	}
}
