//go:build !linux

package holder

import "time"

// restAfter is of no use here.
const restAfter = 0

// resting gives nothing back here.
type resting struct{}

func (*resting) after(time.Duration) {}
