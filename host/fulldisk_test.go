package host

import (
	"context"
	"testing"

	"coleo.dev"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
)

// The sender of an order stops waiting while the host agent writes. A write of something that has happened must
// still be completed. A write of something that was only intended must leave no trace.
func TestWhoGivesUpWaitingLosesNothing(t *testing.T) {
	s := newStage(t)
	id := s.arm("one")
	a, err := s.host.arm(id)
	s.check(err)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	s.check(a.change(over, func(r *store.ArmRecord) []coleo.Event {
		r.Model = "seen"
		return []coleo.Event{armrecord.Event(id, coleo.EventBlocked, coleo.Note{Text: "has happened"})}
	}))
	if n := len(s.events(id, coleo.EventBlocked)); n != 1 {
		t.Errorf("%d events of what has happened were written, want 1", n)
	}
	err = a.intend(over, func(r *store.ArmRecord) []coleo.Event {
		r.Model = "intended"
		return []coleo.Event{armrecord.Event(id, coleo.EventSpawned, coleo.Note{})}
	})
	if coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Errorf("an intention that nobody waits for = %v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.record.Model != "seen" {
		t.Errorf("the record has the model %q, want what was seen", a.record.Model)
	}
}
