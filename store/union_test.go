package store

import (
	"testing"

	"coleo.dev"
)

// A newer host agent can send an event of a kind that this serve does not know. Serve must store it
// unchanged, in the log and in its run, and must also accept the events before and after it.
func TestR1AnEventOfAnUnknownKindIsKept(t *testing.T) {
	t.Parallel()
	s := serve(t)
	strange := work("r1", 1, "weather", map[string]any{"wind": []int{3, 4}, "id": 7})
	events := numbered("h1", 0, spawn("a1", 1), work("r1", 0, coleo.EventRunStart, coleo.Receipt{ID: "r1", Text: "go"}),
		work("r1", 1, coleo.EventTurn, coleo.Turn{}), strange,
		work("r1", 0, coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle, Answer: "done"}))
	project(t, s, events...)
	kept, _, err := s.RunEvents(t.Context(), EventFilter{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the run's events", kept, events[1:])
	if run, err := s.Run(t.Context(), "r1"); err != nil || run.Events != 4 || run.Turns != 1 || run.Answer != "done" {
		t.Errorf("the run is %+v (%v)", run, err)
	}
	if _, err := coleo.DecodeWork(kept[2]); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("the unknown kind is decoded: %v, want EInvalid", err)
	}
}
