package host

import (
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/store"
)

// `coleo up --revive` starts an arm again if its holder has died although nobody has ordered the arm's end. So
// an end that a person has ordered must be recorded differently from the death of a holder.
func TestTheDeathOfAHolderIsNoLossAfterAnOrderedEnd(t *testing.T) {
	t.Parallel()
	for desired, rule := range map[coleo.Desired]string{
		coleo.DesiredRunning: coleo.RuleHolderGone, coleo.DesiredStopped: coleo.RuleProcess,
	} {
		s := newStage(t)
		id := s.arm("ada")
		a, err := s.host.arm(id)
		s.check(err)
		s.check(a.change(t.Context(), func(r *store.ArmRecord) []coleo.Event {
			r.Desired = desired
			return nil
		}))
		s.check(syscall.Kill(a.recordNow().Handle.Holder.PID, syscall.SIGKILL))
		s.until("the arm's end is recorded", func() bool { return a.recordNow().State == coleo.Dead })
		if got := a.recordNow().Rule; got != rule {
			t.Errorf("an arm that should be %s ended by rule %q, want %q", desired, got, rule)
		}
	}
}
