//go:build !linux

package limits

import "coleo.dev"

//platform:macos Limits of sandboxed arms = none, because there are no sandboxes

// Plan returns EUnsupported if l contains a limit, because Coleo enforces limits only on Linux.
func Plan(l coleo.SandboxLimits) (Means, error) {
	if l == (coleo.SandboxLimits{}) {
		return Means{}, nil
	}
	return Means{}, coleo.Errorf(coleo.EUnsupported, "Coleo enforces limits of arms only on Linux")
}
