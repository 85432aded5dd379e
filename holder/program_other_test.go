//go:build !linux

package holder

// playProgram has no programs on this system.
func playProgram([]string) bool { return false }

// strangers is empty on this system.
var strangers = map[string]func(args []string) int{}
