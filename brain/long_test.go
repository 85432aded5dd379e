package brain

import (
	"context"
	"testing"

	"coleo.dev"
)

func TestTheEndOfARunOfManyEventsIsFoundLater(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	const long = 2500 // several pages
	var events []coleo.Event
	for i := range uint64(long) {
		events = append(events, coleo.Event{Host: scriptedHost, Epoch: "e", Seq: i + 1, Arm: "a", Run: "r", Kind: coleo.EventState})
	}
	events[0].Kind = coleo.EventRunStart
	events[long-1].Kind, events[long-1].Payload = coleo.EventRunEnd, []byte(`{"status":"idle","answer":"42"}`)
	check(t, s.db.Project(t.Context(), events))
	ctx, cancel := context.WithTimeout(t.Context(), patience/10)
	defer cancel()
	end, err := s.brain.WaitRun(ctx, "r")
	if err != nil || end.Answer != "42" {
		t.Fatalf("the end of the run = %+v, %v", end, err)
	}
	if _, err := s.brain.WaitRun(ctx, "another"); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("the end of a run that nobody began = %v, want %s", err, coleo.ENotFound)
	}
}
