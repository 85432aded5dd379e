//go:build !linux

package memory

// Releaser does nothing on this system.
type Releaser struct{}

// ReleaseSoon does nothing on this system.
func (*Releaser) ReleaseSoon() {}
