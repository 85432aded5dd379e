//go:build !linux

package process

//platform:macos A command to Coleo from inside an arm = is not recognized, so an arm can approve its own dialogs

// OutsideArms always returns nil, because this system does not show whether a process
// belongs to an arm.
func OutsideArms(int) error { return nil }

// HideMemory does nothing on this system.
func HideMemory() {}

// OutsideOtherArms always returns nil, for the same reason.
func OutsideOtherArms(int, string) error { return nil }
