//go:build !race

package casttest

// Raced reports whether the race detector is on.
const Raced = false
