//go:build !linux

package holder

// playProgram knows no program here.
func playProgram([]string) bool { return false }
