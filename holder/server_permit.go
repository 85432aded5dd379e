package holder

import (
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
)

// With NeedsPermit a holder refuses keys unless a permit holds. The host agent extends
// the permit while serve confirms that this start of the arm is the only one that may be
// typed into. A holder that is cut off from serve refuses keys once its permit has
// lapsed. So two starts of one arm are never both typed into.

// maxPermit bounds a permit. Serve gives permits for seconds; a longer one is a mistake.
const maxPermit = time.Minute

// permit extends the permit to a time on package boottime's clock.
func (s *server) permit(until time.Duration) response {
	if left := boottime.Until(until); left > maxPermit {
		return refuse(coleo.EInvalid, "a permit for %s is longer than %s", left, maxPermit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permittedUntil = until
	return response{}
}

// permitLeft returns for how long keys may still be typed. It returns an error when the
// permit has lapsed. The caller holds mu.
func (s *server) permitLeft() (time.Duration, *coleo.Error) {
	if !s.launch.NeedsPermit {
		return maxPermit, nil
	}
	if left := boottime.Until(s.permittedUntil); left > 0 {
		return left, nil
	}
	return 0, coleo.Errorf(coleo.EUnproven,
		"nothing was typed: arm %s is frozen until serve confirms that no other start of it may run", s.launch.Arm)
}
