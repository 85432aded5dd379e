//go:build !linux

package process

// Traces returns nil on this system, because the environment of another process cannot
// be read.
func Traces() map[string][]int { return nil }
