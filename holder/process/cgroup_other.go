//go:build !linux

package process

//platform:macos Control groups = none

// Group always means that there is no group, because this system has no control groups.
type Group struct{}

// MakeGroup returns the zero Group on this system.
func MakeGroup(string, string, string, bool) Group { return Group{} }

// OpenGroup returns the zero Group on this system.
func OpenGroup(string) Group { return Group{} }

// FD returns -1 on this system.
func (Group) FD() int { return -1 }

// End does nothing on this system.
func (Group) End(string) error { return nil }
