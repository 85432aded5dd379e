//go:build !linux

package holder

import "time"

// restAfter is not used on this system.
const restAfter = 0

// resting does nothing on this system.
type resting struct{}

func (*resting) after(time.Duration) {}
