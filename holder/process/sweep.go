package process

import "time"

const (
	// KillTimeout is how long processes may take to disappear after KILL. A process in
	// an uninterruptible wait may take longer. It is then reported.
	KillTimeout = 5 * time.Second
	// PollEvery is the shortest time between two looks at a process tree that was told
	// to end.
	PollEvery = 5 * time.Millisecond
)

// Sweep does the same as SweepStarts, for all starts of an arm.
func Sweep(arm string) []int { return SweepStarts(arm, everyStart) }
