//go:build !linux

package container

//platform:macos Containers of arms = are refused

import "coleo.dev"

// Start always returns EUnsupported on this system.
func Start([]string) error { return Init(nil) }

// Init always returns EUnsupported on this system.
func Init([]string) error {
	return coleo.Errorf(coleo.EUnsupported, "Coleo makes sandboxes only on Linux")
}
