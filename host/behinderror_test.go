package host

import (
	"strings"
	"testing"

	"coleo.dev"
)

// readingSession is a real session whose state is changed by the function `shows`.
type readingSession struct {
	coleo.Session
	shows func(coleo.Reading) coleo.Reading
}

func (s *readingSession) State() coleo.Reading { return s.shows(s.Session.State()) }

// awaitBehindError waits until the queue is held because the last turn has ended with an error. It checks the
// reason that the queue reports.
func (s *stage) awaitBehindError(id string) {
	s.t.Helper()
	var held string
	s.until("the queue waits behind the error", func() bool {
		held = s.queue(id, coleo.QueueOrder{}).Held
		return held != ""
	})
	if !strings.HasPrefix(held, behindError) || !strings.Contains(held, "'coleo arm resume ada'") {
		s.t.Errorf("the queue waits, because %q", held)
	}
	if got := s.report(id).Queue; got == nil || got.Held != held {
		s.t.Errorf("the arm reports the queue %+v", got)
	}
}

func TestAQueueBehindAnErrorGoesOnWhenAPersonResumesIt(t *testing.T) {
	t.Parallel()
	s, id, _ := limitStage(t, "")
	s.meets(id, "429")
	s.followUp(id, "say Limit: 429 again") // "again" makes this error differ from the first one
	s.followUp(id, "say two")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueUnparked})
	s.awaitBehindError(id)
	s.checkNothingSent(id, "ada", 1)

	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.awaitPrompted("ada", "say Limit: 429", "say Limit: 429 again")
	s.parkedNow(id)
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueUnparked})
	s.awaitBehindError(id) // the order was for one prompt only
	s.checkNothingSent(id, "ada", 2)
	s.prompt(id, "pause 10m")
	if q := s.queue(id, coleo.QueueOrder{}); q.Held != "" || len(q.Entries) != 1 {
		t.Errorf("during the turn of another prompt, the queue is %+v", q)
	}
}

func TestAResumedQueueStopsAtDialogsAndUnprovenStates(t *testing.T) {
	t.Parallel()
	for what, shows := range map[string]func(coleo.Reading) coleo.Reading{
		"a dialog": func(r coleo.Reading) coleo.Reading {
			r.Dialog = &coleo.Dialog{Title: "May it?"}
			return r
		},
		"an unproven state": func(r coleo.Reading) coleo.Reading {
			r.Rule = coleo.RuleUnprovenIdle
			return r
		},
		"an unknown screen": func(r coleo.Reading) coleo.Reading {
			r.Known = false
			return r
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, id, _ := limitStage(t, "")
			s.meets(id, "429")
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session { return &readingSession{real, shows} })
			s.followUp(id, "say one")
			s.queue(id, coleo.QueueOrder{Step: coleo.QueueUnparked})
			if held := s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed}).Held; held != "" {
				t.Errorf("the queue waits, because %q", held)
			}
			s.checkNothingSent(id, "ada", 1)
			a.mu.Lock()
			a.session = session.(*readingSession).Session
			a.mu.Unlock()
			s.look(id)
			s.awaitPrompted("ada", "say Limit: 429", "say one")
			s.awaitRuns(id, 2)
		})
	}
}

// A person resumes a queue before a turn ends with an error. The order must have no effect on the later error,
// which must hold the queue.
func TestAResumeBeforeTheErrorSendsNothingBehindIt(t *testing.T) {
	t.Parallel()
	s, id, _ := limitStage(t, "")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.meets(id, "429")
	s.followUp(id, "say one")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueUnparked})
	s.awaitBehindError(id)
	s.checkNothingSent(id, "ada", 1)
}
