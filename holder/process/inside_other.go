//go:build !linux

package process

import "coleo.dev"

//platform:macos A command to Coleo from inside an arm = is not recognized, so an arm can approve its own dialogs

// OutsideArms always returns nil, because this system does not show whether a process
// belongs to an arm.
func OutsideArms(int) error { return nil }

// ArmOf returns EUnsupported, because this system does not show whether a process belongs to
// an arm.
func ArmOf(int) (string, error) {
	return "", coleo.Errorf(coleo.EUnsupported, "this system does not show whether a process belongs to an arm")
}

//platform:macos The policy of an arm = leaves each dialog to a person, because the shell of the agent CLI is not known

// Environ returns EUnsupported, because Coleo cannot read the environment of a process on
// this system.
func Environ(coleo.Identity) ([]string, error) {
	return nil, coleo.Errorf(coleo.EUnsupported, "the environment of a process cannot be read on this system")
}

// HideMemory does nothing on this system.
func HideMemory() {}

// OutsideOtherArms always returns nil, because this system does not show whether a process belongs
// to an arm.
func OutsideOtherArms(int, string) error { return nil }
