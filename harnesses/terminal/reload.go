package terminal

import (
	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// rules returns the Spec by which the session reads and types. It is the harness's Spec
// at the session's start, or the one that Reload set since.
func (s *session) rules() *rules.Spec { return s.described.Load() }

// Reload makes the session read and type by another Spec of the same harness from now on,
// and judges the screen again at once. The launch of the agent CLI stays as it was, and
// so does what its hook reports. The error is EInvalid for another harness, and EBusy
// while keys are typed.
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
	s.Use(next.spec)
	select {
	case s.reread <- struct{}{}:
	default: // another look is already pending
	}
	return nil
}
