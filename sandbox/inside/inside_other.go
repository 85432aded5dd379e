//go:build !linux

package inside

//platform:macos Sandboxes of arms = are refused

import "coleo.dev"

// Start always returns EUnsupported on this system.
func Start([]string) error { return Enter(nil) }

// Enter always returns EUnsupported on this system.
func Enter([]string) error {
	return coleo.Errorf(coleo.EUnsupported, "Coleo makes sandboxes only on Linux")
}

// Proxy always returns EUnsupported on this system.
func Proxy([]string) error { return Enter(nil) }
