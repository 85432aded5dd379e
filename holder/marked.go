package holder

// Marked returns the processes that carry an arm's mark in their environment,
// of whatever generation, and those below them: what is left of it. Where other
// processes cannot be read it finds none.
func Marked(arm string) []int { return pidsOf(markedOrIn(group{}, arm)) }
