package holder

import (
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
)

// If the launch has set NeedsPermit, a holder refuses keys without a valid permit. The host agent
// renews the permit while serve confirms that no other start of the arm receives keys. If the host
// agent loses its connection to serve, the permit ends after some seconds. So nobody types into two
// starts of one arm at the same time.

// maxPermit is the longest permit. A longer permit is a mistake, because serve gives permits that
// last only seconds.
const maxPermit = time.Minute

// permit makes the permit valid until the given time on the clock of package boottime.
func (s *server) permit(until time.Duration) response {
	if left := boottime.Until(until); left > maxPermit {
		return refuse(coleo.EInvalid, "a permit for %s is longer than %s", left, maxPermit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permittedUntil = until
	return response{}
}

// permitLeft returns how much longer keys are permitted. It returns an error if the permit has
// ended. The caller must hold mu.
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
