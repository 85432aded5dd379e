//go:build !race

package terminal

// raced tells whether the race detector is on.
const raced = false
