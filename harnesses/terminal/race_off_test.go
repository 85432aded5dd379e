//go:build !race

package terminal

// raced reports whether the race detector is on.
const raced = false
