//go:build !linux

package process

// OutsideArms always returns nil, because this system does not show whether a process
// belongs to an arm.
func OutsideArms(int) error { return nil }

// HideMemory does nothing on this system.
func HideMemory() {}
