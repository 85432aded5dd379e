package brain

import (
	"context"
	"slices"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// OpenWindow opens the window of an arm, and returns the arm's row. If the request names no
// terminal, the window opens where it was before. OpenWindow returns ENotFound if there is no such
// arm. It returns EUnsupported if the arm's harness shows no window, and EConflict if the window is
// open. It returns EInvalid for variables that a window does not need, and EUnavailable if the host
// agent cannot be asked. Other errors come from the host agent.
func (b *Brain) OpenWindow(ctx context.Context, idOrName string, q wire.WindowRequest) (coleo.Arm, error) {
	if err := checkWindow(q); err != nil {
		return coleo.Arm{}, err
	}
	if err := b.OrderAndCatchUp(ctx, idOrName, bus.OpWindow, spawnTimeout, func(arm coleo.Arm) any {
		return bus.WindowOrder{Arm: arm.ID, Place: placeAt(q)}
	}, nil); err != nil {
		return coleo.Arm{}, err
	}
	return b.Arm(ctx, idOrName)
}

// If the window of a reattached arm is closed, reopen opens it again. If that fails, it returns a
// sentence for users.
func (b *Brain) reopen(ctx context.Context, arm coleo.Arm, q wire.WindowRequest) string {
	if arm.Window == nil || arm.Window.State == coleo.WindowOpen || arm.Window.State == coleo.WindowOpening {
		return ""
	}
	err := b.askAboutArm(ctx, arm, bus.OpWindow, spawnTimeout, bus.WindowOrder{Arm: arm.ID, Place: placeAt(q)}, nil)
	if err == nil || coleo.ErrorCode(err) == coleo.EConflict {
		return ""
	}
	return "the arm runs, but its window was not opened again: " + err.Error()
}

// placeAt returns the place that a request names, or nil if it names none.
func placeAt(q wire.WindowRequest) *coleo.WindowPlace {
	if q.Terminal == "" && len(q.Environ) == 0 {
		return nil
	}
	return &coleo.WindowPlace{Terminal: q.Terminal, Environ: q.Environ}
}

// checkWindow returns EInvalid if a request has variables that no window needs.
func checkWindow(q wire.WindowRequest) error {
	for name := range q.Environ {
		if !slices.Contains(coleo.WindowVariables(), name) {
			return coleo.Errorf(coleo.EInvalid, "a window takes no variable %s: it takes %v", name,
				coleo.WindowVariables())
		}
	}
	return nil
}

// configureWindow sets where the window of a start is opened. It returns EUnsupported if the
// request wants a window and the harness shows none. It also does so if the request wants no window
// and the harness always shows one.
func (b *Brain) configureWindow(c *coleo.SpawnConfig, q wire.SpawnRequest, harness, name string) error {
	h, err := b.Registry.Get(harness)
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
			harness, b.Registry.Preferred())
	}
	asked := wire.WindowRequest{Terminal: q.Terminal, Environ: q.WindowEnviron}
	if place := placeAt(asked); place != nil {
		c.Window = place
	}
	return checkWindow(asked)
}
