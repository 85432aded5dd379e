package holder

// Marked returns the processes that carry an arm's mark in their environment,
// of whatever generation, and those below them: what is left of it. Where other
// processes cannot be read it finds none.
func Marked(arm string) []int { return pidsOf(markedTree(group{}, arm, anyStart)) }

// MarkedFrom returns those of a generation and of newer ones.
func MarkedFrom(arm string, oldest int) []int {
	return pidsOf(markedTree(group{}, arm, func(generation int, _ string) bool { return generation >= oldest }))
}

// Sweep is SweepStarts for every start of an arm.
func Sweep(arm string) []int { return SweepStarts(arm, anyStart) }

func anyStart(int, string) bool { return true }
