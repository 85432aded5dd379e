//go:build !linux

package holder

// ArmAbove always returns false: this system does not show what a process belongs to.
func ArmAbove(int) (arm string, found bool) { return "", false }

// OutsideArms always returns nil on this system.
func OutsideArms(int) error { return nil }

// HideMemory does nothing on this system.
func HideMemory() {}
