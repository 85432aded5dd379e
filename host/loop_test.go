package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"coleo.dev"
)

// calls reports n calls of a tool, all with the same result. The number of the first call is `first`.
func (s *stage) calls(id, command string, first, n int64) {
	s.t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	s.check(err)
	for i := first; i < first+n; i++ {
		call := fmt.Sprint("c", i)
		s.noteWork(id, []coleo.Activity{
			{Position: 2 * i, Work: coleo.ToolCall{ID: call, Name: "Bash", Kind: coleo.ToolExecute, Arguments: args}},
			{Position: 2*i + 1, Work: coleo.ToolEnd{ID: call, Outcome: coleo.ToolSuccess, Output: "nothing"}}})
	}
}

func TestAnArmThatGoesInCirclesIsInterruptedAndWaits(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, "", &stage{alter: func(c *Config) { c.SameCalls = 5 }})
	id := s.arm("ada")
	s.works(id)
	s.followUp(id, "say two")
	s.calls(id, "ls", 1, 4)
	s.calls(id, "pwd", 5, 4)
	if q := s.queue(id, coleo.QueueOrder{}); q.Parked != nil {
		t.Fatalf("after four calls alike it is parked %+v", q.Parked)
	}
	s.calls(id, "ls", 9, 1)
	p := s.parkedNow(id)
	if p.Kind != coleo.LimitLoop || !p.Wake.IsZero() || !strings.Contains(p.Text, "same call of Bash") || p.Run == "" {
		t.Errorf("it is parked %+v", p)
	}
	s.awaitRuns(id, 1)
	for run, end := range s.ends(id) {
		if end.Outcome != coleo.OutcomeInterrupted {
			t.Errorf("the run %s ended %+v", run, end)
		}
	}
	s.checkNothingSent(id, "ada", 1)
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueContinued})
	s.awaitPrompted("ada", "pause 1h", "continue", "say two")
}

func TestTheLoopBreakerCanBeOff(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, "", &stage{alter: func(c *Config) { c.SameCalls = -1 }})
	id := s.arm("ada")
	s.works(id)
	s.calls(id, "ls", 1, 50)
	if q := s.queue(id, coleo.QueueOrder{}); q.Parked != nil {
		t.Errorf("it is parked %+v", q.Parked)
	}
}
