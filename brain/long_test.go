package brain

import (
	"context"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

func TestTheEndOfARunOfManyEventsIsFoundLater(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	const long = 2500 // long enough for several pages
	var events []coleo.Event
	for i := range uint64(long) {
		events = append(events, coleo.Event{Host: scriptedHost, Epoch: "e", Seq: i + 1, Arm: "a", Run: "r",
			Kind: coleo.EventState})
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

func TestALogWhoseBeginningIsGoneIsFollowedAllTheSame(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	list := []coleo.Event{
		{Host: scriptedHost, Epoch: "e", Seq: 5, Arm: "a", Kind: coleo.EventWitness},
		{Host: scriptedHost, Epoch: "e", Seq: 9, Arm: "a", Kind: coleo.EventWitness},
	}
	s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.EventsOrder
		err := json.Unmarshal(data, &o)
		piece := bus.Events{Epoch: "e", Head: 9, Checked: true, Deleted: 8}
		if o.After < 9 {
			piece.List = list
		}
		return piece, err
	})
	s.beat()
	s.until("the events are there", func() bool { return s.db.Head() == 2 })
	if gap, err := s.db.Gap(t.Context(), scriptedHost); err != nil || gap != 8 {
		t.Errorf("what is gone of the log = %d, %v; want what is up to 8", gap, err)
	}
}
