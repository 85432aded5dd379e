//go:build race

package terminal

// raced reports whether the race detector is on. The race detector makes regular
// expressions and the emulator ten times as slow.
const raced = true
