//go:build !linux

package holder

// playProgram always returns false, because this system has no programs for these tests.
func playProgram([]string) bool { return false }
