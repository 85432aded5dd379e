package terminal

import (
	"time"

	"coleo.dev"
)

// rules is the description by which the session reads and types: that of its
// harness when it began, or the one that Reload brought since.
func (s *session) rules() *Spec { return s.described.Load() }

// Reload reads and types by another description of the same harness from now
// on, and judges the screen anew at once. How the agent CLI was started stays
// as it was, and with it what its hook reports.
func (s *session) Reload(h coleo.Harness) error {
	next, ok := h.(*Harness)
	if !ok || next.spec.Name != s.rules().Name {
		return coleo.Errorf(coleo.EInvalid, "the rules of %s are no rules for %s", h.Info().Name, s.rules().Name)
	}
	if !s.typing.TryLock() {
		return coleo.Errorf(coleo.EBusy, "%s is being typed into: its rules change afterwards", s.rules().Title)
	}
	defer s.typing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.described.Store(next.spec)
	s.goBy(next.spec)
	select {
	case s.reread <- struct{}{}:
	default: // it is to be looked at anyway
	}
	return nil
}

// goBy changes the rules and forgets what the former ones said of the screen.
// Whatever must hold for a while begins anew.
func (r *reader) goBy(spec *Spec) {
	r.spec, r.memo = spec, memo{}
	r.pending, r.unknown, r.reported = time.Time{}, time.Time{}, false
}
