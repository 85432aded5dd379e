package start

import (
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/wire"
)

// WindowPlace returns the place that a request names, or nil if it names none.
func WindowPlace(q wire.WindowRequest) *coleo.WindowPlace {
	if q.Terminal == "" && len(q.Environ) == 0 {
		return nil
	}
	return &coleo.WindowPlace{Terminal: q.Terminal, Environ: q.Environ}
}

// CheckWindow returns EInvalid if a request contains variables that no window needs.
func CheckWindow(q wire.WindowRequest) error {
	for name := range q.Environ {
		if !slices.Contains(coleo.WindowVariables(), name) {
			return coleo.Errorf(coleo.EInvalid, "a window takes no variable %s: it takes %s", name,
				strings.Join(coleo.WindowVariables(), ", "))
		}
	}
	return nil
}

// configureWindow sets where the window of an arm is opened. It returns EUnsupported if the request
// wants a window and the harness shows none. It also returns EUnsupported if the request wants no
// window and the harness always shows one.
func (r Rules) configureWindow(c *coleo.SpawnConfig, q wire.SpawnRequest, harness, name string) error {
	h, err := r.Harnesses.Get(harness)
	if err != nil {
		return err
	}
	if !h.Info().Capabilities.Window {
		c.Window = nil
		if q.Terminal == "" && (q.Headless == nil || *q.Headless) {
			return nil
		}
		return coleo.Errorf(coleo.EUnsupported,
			"nothing was started: the harness '%s' shows no window, and serve opens none for it; leave out terminal and "+
				"headless, and use 'coleo arm open %s' where a person sees the window", harness, name)
	}
	if q.Headless != nil && *q.Headless {
		return coleo.Errorf(coleo.EUnsupported,
			"nothing was started: the harness '%s' always shows a window; use the harness '%s' for an arm without one",
			harness, r.Harnesses.Preferred())
	}
	asked := wire.WindowRequest{Terminal: q.Terminal, Environ: q.WindowEnviron}
	if place := WindowPlace(asked); place != nil {
		c.Window = place
	}
	return CheckWindow(asked)
}
