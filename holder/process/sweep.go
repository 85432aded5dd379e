package process

import "time"

const (
	// KillTimeout bounds how long processes may take to vanish after KILL. A process in
	// an uninterruptible wait may take longer and is reported.
	KillTimeout = 5 * time.Second
	// PollEvery is the shortest time between two looks at a tree that was told to end.
	PollEvery = 5 * time.Millisecond
)

// Sweep is SweepStarts for every start of an arm.
func Sweep(arm string) []int { return SweepStarts(arm, everyStart) }
