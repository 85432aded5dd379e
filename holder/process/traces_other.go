//go:build !linux

package process

// Traces returns nil on this system, where Coleo cannot read the environments of other
// processes.
func Traces() map[string][]int { return nil }
