package armrecord

import (
	"encoding/json"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/store"
)

// TestR9TheEndAndTheRetryAreOneChange checks that one change of the record ends the run and queues
// the retry. So no kill can come between them.
func TestR9TheEndAndTheRetryAreOneChange(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`
	run := coleo.Receipt{ID: "R1", Text: "Count.", Check: &coleo.Check{Schema: json.RawMessage(schema), Retries: 1}}
	end := coleo.RunEnd{Status: coleo.Idle, Answer: "many", Source: "hook"}
	r := store.ArmRecord{ID: "a1", Run: &run, Queue: &coleo.Queue{Entries: []coleo.Queued{{ID: "Q1", Text: "later"}}}}
	CheckAnswer(run, &end)
	var kinds []coleo.EventKind
	for _, e := range EndRuns(&r, "R1", end, nil) {
		kinds = append(kinds, e.Kind)
	}
	if want := []coleo.EventKind{coleo.EventOutputValidated, coleo.EventOutputRetry, coleo.EventQueue,
		coleo.EventRunEnd}; !slices.Equal(kinds, want) {
		t.Errorf("the change has the events %v, want %v", kinds, want)
	}
	if r.Run != nil || len(r.Queue.Entries) != 2 || r.Queue.Entries[0].ID != end.Retry || r.Queue.Entries[1].ID != "Q1" {
		t.Errorf("after the change the run is %+v and the queue %+v", r.Run, r.Queue)
	}
	if events := EndRuns(&r, "R1", end, nil); events != nil || len(r.Queue.Entries) != 2 {
		t.Errorf("a second end of the run: %+v, the queue %+v", events, r.Queue)
	}
}

// If the idle state at the end of a turn is unproven, the run must not count as finished. It counts as
// interrupted if Coleo has interrupted it, and as unproven otherwise.
func TestAnUnprovenEndIsNoFinish(t *testing.T) {
	t.Parallel()
	for interrupted, want := range map[bool]coleo.Outcome{false: coleo.OutcomeUnproven,
		true: coleo.OutcomeInterrupted} {
		r := store.ArmRecord{ID: "a", Run: &coleo.Receipt{ID: "r", Interrupted: interrupted}}
		reading := coleo.Reading{State: coleo.Idle, Rule: coleo.RuleUnprovenIdle}
		end := EndBy(reading)
		end.Answer, end.Source = "so far", "hook"
		events := EndRuns(&r, "r", end, nil)
		end, err := coleo.DecodeRunEnd(events[0])
		if err != nil || end.Outcome != want || end.Whole {
			t.Errorf("interrupted %v: the run ended %+v, %v, want %s", interrupted, end, err, want)
		}
	}
}

// A turn has ended at a limit of the model. While its answer is read, a person sends another prompt, whose turn
// begins. The arm must not be parked then: at the wake time, it would be told to continue the old turn.
func TestALimitDoesNotParkAnArmWhoseNextTurnHasBegun(t *testing.T) {
	t.Parallel()
	quota := coleo.RunEnd{Status: coleo.Failed, Outcome: coleo.OutcomeFailed, Limit: &coleo.Limit{Kind: coleo.LimitQuota}}
	r := &store.ArmRecord{ID: "a", Run: &coleo.Receipt{ID: "next"}, Earlier: []coleo.Receipt{{ID: "r"}}}
	EndRuns(r, "r", quota, nil)
	if p := Queue(r).Parked; p != nil || r.Run == nil || r.Run.ID != "next" {
		t.Errorf("the arm is parked %+v, and its run is %+v", p, r.Run)
	}
	EndRuns(r, "next", quota, nil)
	if p := Queue(r).Parked; p == nil || p.Run != "next" {
		t.Errorf("after the last turn, the arm is parked %+v", p)
	}
}
