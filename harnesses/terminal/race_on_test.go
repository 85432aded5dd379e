//go:build race

package terminal

// raced tells whether the race detector is on. It makes regular expressions and
// the emulator ten times as slow.
const raced = true
