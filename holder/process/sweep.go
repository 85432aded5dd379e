package process

import "time"

const (
	// KillTimeout is how long Coleo waits for processes to disappear after KILL. A process in an
	// uninterruptible wait can take longer, and Coleo then reports it.
	KillTimeout = 5 * time.Second
	// PollEvery is the shortest time between two checks of processes that must end. A check reads
	// one file for each process.
	PollEvery = 5 * time.Millisecond
)

// Sweep works like SweepStarts, for all starts of the arm.
func Sweep(arm string) []int { return SweepStarts(arm, everyStart) }
