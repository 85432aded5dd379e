package host

import (
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// addAgain repeats the order to add a prompt, as a client does that did not receive the answer. It
// checks that the order adds nothing, and returns the answer.
func (s *stage) addAgain(id, prompt string) (coleo.QueueReport, error) {
	s.t.Helper()
	before := len(s.queueChanges(id))
	var out coleo.QueueReport
	err := s.ask(bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: coleo.QueueOrder{Step: coleo.QueueAdded, ID: prompt,
		Text: "say " + prompt}}, &out)
	if changes := s.queueChanges(id); len(changes) != before {
		s.t.Errorf("the order was repeated, and has changed the queue: %+v", changes[before:])
	}
	return out, err
}

func (s *stage) addOnce(id, prompt string) {
	s.t.Helper()
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueAdded, ID: prompt, Text: "say " + prompt})
}

func TestAPromptWhoseRunHasEndedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	var adding sync.WaitGroup
	for range 8 { // the client repeats its order while the first one is being carried out
		adding.Go(func() {
			o := coleo.QueueOrder{Step: coleo.QueueAdded, ID: "one", Text: "say one"}
			if err := s.ask(bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: o}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	s.awaitRuns(id, 1)
	for range 2 {
		out, err := s.addAgain(id, "one")
		if s.check(err); out.ID != "one" || len(out.Queue.Entries) != 0 {
			t.Errorf("the answer is %+v, want the id of the run", out)
		}
		s.restart()
	}
	s.addOnce(id, "two")
	s.awaitPrompted("ada", "say one", "say two")
	s.awaitRuns(id, 2)
	if starts := s.events(id, coleo.EventRunStart); len(starts) != 2 || starts[0].Run != "one" {
		t.Errorf("the runs are %+v", starts)
	}
}

// A prompt was removed, lost or moved to another arm. An order with its id must be refused, and the
// error must say what became of the prompt.
func TestAPromptThatHasLeftTheQueueWithoutARunIsNotAddedAgain(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		leave func(s *stage, id string)
		want  string
	}{
		"removed": {func(s *stage, id string) {
			s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
			s.addOnce(id, "one")
			s.queue(id, coleo.QueueOrder{Step: coleo.QueueRemoved, ID: "one"})
		}, "was removed"},
		"lost": {func(s *stage, id string) {
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session {
				return &refusingSession{real, func() error { return coleo.Errorf(coleo.EPromptLost, "lost") }}
			})
			s.addOnce(id, "one")
			a.sendFirst(s.t.Context(), session)
		}, "not sent again"},
		"handed over": {func(s *stage, id string) {
			s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
			s.addOnce(id, "one")
			must[bus.SucceedReport](s, bus.OpSucceed, s.successor(id))
			s.awaitPrompted("two", "say task", "say one")
		}, "has left it"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.arm("ada")
			c.leave(s, id)
			for range 2 {
				_, err := s.addAgain(id, "one")
				if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), c.want) {
					t.Errorf("the answer is %v, want %q", err, c.want)
				}
				s.restart()
			}
			s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
			s.checkNothingSent(id, "ada", 0)
		})
	}
}
