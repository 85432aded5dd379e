package holder

import (
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
)

// With NeedsPermit, a holder refuses keys unless it has a valid permit. The host agent
// extends the permit as long as serve confirms one thing: this start of the arm is the
// only one that may get keys. If a holder is cut off from serve, its permit lapses, and
// it refuses keys. So keys are never typed into two starts of one arm.

// maxPermit is the longest permit. The process serve gives permits for seconds. A
// longer permit is a mistake.
const maxPermit = time.Minute

// permit extends the permit to the given time on package boottime's clock.
func (s *server) permit(until time.Duration) response {
	if left := boottime.Until(until); left > maxPermit {
		return refuse(coleo.EInvalid, "a permit for %s is longer than %s", left, maxPermit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permittedUntil = until
	return response{}
}

// permitLeft returns how much longer keys may be typed. It returns an error if the
// permit has lapsed. The caller must hold mu.
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
