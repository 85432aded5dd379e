//go:build !linux

package process

// Traces returns nil on this system: another process's environment cannot be read.
func Traces() map[string][]int { return nil }
