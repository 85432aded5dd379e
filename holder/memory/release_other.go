//go:build !linux

package memory

//platform:macos Memory of a quiet holder = is kept

// Releaser does nothing on this system.
type Releaser struct{}

// ReleaseSoon does nothing on this system.
func (*Releaser) ReleaseSoon() {}
