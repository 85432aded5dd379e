//go:build !linux

package holder

// playProgram has no programs on this system.
func playProgram([]string) bool { return false }
