package host

import (
	"bytes"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// The types of the payloads of Coleo's own events. docs/api.md names the same types.
var ownPayloads = map[coleo.EventKind]func() any{
	coleo.EventSpawned:      func() any { return new(coleo.Handle) },
	coleo.EventStopped:      func() any { return new(coleo.Reading) },
	coleo.EventState:        func() any { return new(coleo.Change) },
	coleo.EventWitness:      func() any { return new(coleo.Change) },
	coleo.EventConversation: func() any { return new(coleo.Note) },
	coleo.EventRunStart:     func() any { return new(coleo.Receipt) },
	coleo.EventRunEnd:       func() any { return new(coleo.RunEnd) },
	coleo.EventDecision:     func() any { return new(coleo.Decided) },
	coleo.EventLabels:       func() any { return new(coleo.Labelled) },
	coleo.EventQueue:        func() any { return new(coleo.QueueChange) },
}

// The test reads the log of an arm that works, asks and ends. All events must have the same shape:
// the arm, the time and the kind, and the run if they belong to one. Work of the model also has a
// turn, from 1. Each payload must have the type of its kind, and no other field.
func TestR1EveryEventHasOneShapeAndThePayloadOfItsKind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.runsFor(id)
	all, _ := s.readLog()
	seen := map[coleo.EventKind]bool{}
	for i, e := range all {
		seen[e.Kind] = true
		if e.Host != hostID || e.Epoch == "" || e.Seq != uint64(i+1) || e.Arm != id || e.Time.IsZero() {
			t.Errorf("event %d is %+v", i+1, e)
		}
		if inRun := e.Kind.IsWork() && e.Kind != coleo.EventMode || e.Kind == coleo.EventRunStart ||
			e.Kind == coleo.EventRunEnd || e.Kind == coleo.EventDecision; inRun && e.Run == "" {
			t.Errorf("the %s has no run", e.Kind)
		}
		if byModel := e.Kind == coleo.EventTurn || e.Kind == coleo.EventToolStart; byModel != (e.Turn == 1) {
			t.Errorf("the %s has the turn %d", e.Kind, e.Turn)
		}
		if e.Kind.IsWork() {
			if _, err := coleo.DecodeWork(e); err != nil || e.Source == "" {
				t.Errorf("the work %s is of source %q: %v", e.Kind, e.Source, err)
			}
			continue
		}
		make := ownPayloads[e.Kind]
		if make == nil {
			t.Fatalf("the test knows no payload of a %s", e.Kind)
		}
		d := json.NewDecoder(bytes.NewReader(e.Payload))
		d.DisallowUnknownFields()
		if err := d.Decode(make()); err != nil {
			t.Errorf("the payload of a %s: %v: %s", e.Kind, err, e.Payload)
		}
	}
	for _, kind := range []coleo.EventKind{coleo.EventSpawned, coleo.EventState, coleo.EventRunStart, coleo.EventToolStart,
		coleo.EventDecision, coleo.EventRunEnd, coleo.EventStopped} {
		if !seen[kind] {
			t.Errorf("the log has no %s", kind)
		}
	}
}

// runsFor makes an arm work, ask, receive an answer and end.
func (s *stage) runsFor(id string) {
	s.t.Helper()
	s.prompt(id, "dialog rm -rf build")
	s.noteWork(id, []coleo.Activity{{Position: 1, Work: coleo.Prompted{Text: "dialog rm -rf build"}},
		{Position: 2, Work: coleo.ToolCall{ID: "a", Name: "bash"}, Source: coleo.SourceHook}})
	s.until("the dialog is told", func() bool {
		return must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Reading.Dialog != nil
	})
	must[any](s, bus.OpRespond, bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceDeny}})
	s.until("the run has ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == 1 })
	must[any](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.until("the arm has ended", func() bool { return len(s.events(id, coleo.EventStopped)) == 1 })
}
