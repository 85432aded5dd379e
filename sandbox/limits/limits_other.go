//go:build !linux

package limits

import "coleo.dev"

//platform:macos Limits of sandboxed arms = none, because there are no sandboxes

// Plan returns EUnsupported on this system if there is a limit.
func Plan(l coleo.SandboxLimits) (Means, error) {
	if l == (coleo.SandboxLimits{}) {
		return Means{}, nil
	}
	return Means{}, coleo.Errorf(coleo.EUnsupported, "Coleo keeps limits of arms only on Linux")
}
