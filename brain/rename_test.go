package brain

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// Two users rename an arm at the same time. Afterwards the arm must have the same name on its host and in serve.
func TestTwoRenamesOfAnArmAtTheSameTimeGiveItOneName(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "arm-1", Name: "ada", Harness: "aider", Status: coleo.StatusIdle,
		State: coleo.Idle, AgentID: scriptedHost, Workdir: "/w", Generation: 1}))
	var renaming sync.WaitGroup
	rename := func(name string) {
		renaming.Go(func() {
			if _, err := s.brain.Rename(t.Context(), "arm-1", name); err != nil {
				t.Error(err)
			}
		})
	}
	var mu sync.Mutex
	onHost := ""
	second := make(chan struct{})
	s.answerWith(bus.OpRename, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.RenameOrder
		err := json.Unmarshal(data, &o)
		mu.Lock()
		onHost = o.Name
		mu.Unlock()
		if o.Name == "two" {
			return nil, err
		}
		rename("two")
		renamed := func() bool { return s.row("arm-1").Name == "two" }
		// Serve must not order the second name before it has the report of the first one. So this wait has an end.
		for limit := time.Now().Add(time.Second); !renamed() && time.Now().Before(limit); {
			time.Sleep(time.Millisecond)
		}
		close(second)
		return nil, err
	})
	rename("one")
	<-second
	renaming.Wait()
	if row := s.row("arm-1"); row.Name != onHost {
		t.Errorf("the arm is called %q, and %q on its host", row.Name, onHost)
	}
}
