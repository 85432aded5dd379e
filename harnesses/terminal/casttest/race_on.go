//go:build race

package casttest

// Raced reports whether the race detector is on. It makes regular expressions and the emulator ten
// times slower.
const Raced = true
