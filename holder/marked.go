package holder

// Marked returns the pids of what is left of an arm. These are the processes that carry
// its mark in their environment, of any generation, and those below them. It finds none
// where other processes cannot be read.
func Marked(arm string) []int { return pidsOf(markedTree(group{}, arm, anyStart)) }

// MarkedFrom is Marked for the generations from oldest on.
func MarkedFrom(arm string, oldest int) []int {
	return pidsOf(markedTree(group{}, arm, func(generation int, _ string) bool { return generation >= oldest }))
}

// Sweep is SweepStarts for every start of an arm.
func Sweep(arm string) []int { return SweepStarts(arm, anyStart) }

func anyStart(int, string) bool { return true }
