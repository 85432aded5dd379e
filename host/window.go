package host

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// windowTimeout bounds the wait for a window that the host agent opens by itself.
const windowTimeout = time.Minute

// If a start has a window, withWindow puts the arm's present name into the window's configuration.
func (a *arm) withWindow(harness coleo.Harness, c coleo.SpawnConfig) coleo.SpawnConfig {
	if harness.Info().Capabilities.Window {
		place := a.placeOf(c.Window)
		c.Window = &place
	}
	return c
}

// placeOf returns the place with the arm's present name.
func (a *arm) placeOf(given *coleo.WindowPlace) coleo.WindowPlace {
	var place coleo.WindowPlace
	if given != nil {
		place = *given
	}
	place.Name = a.name()
	return place
}

// openWindow opens the arm's window. It returns EUnsupported if the arm's harness shows no
// window, and otherwise the errors of coleo.Windowed.
func (h *Host) openWindow(ctx context.Context, o bus.WindowOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	s, err := a.live()
	if err != nil {
		return nil, err
	}
	shown, ok := s.(coleo.Windowed)
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "the harness of arm %s shows no window of its own", a.name())
	}
	return nil, a.showWindow(ctx, shown, o.Place)
}

// showWindow opens the window of a session at a place. Without a place, it uses the place of the
// arm's start.
func (a *arm) showWindow(ctx context.Context, s coleo.Windowed, given *coleo.WindowPlace) error {
	if given == nil {
		a.mu.Lock()
		given = a.record.Spec.Window
		a.mu.Unlock()
	}
	place := a.placeOf(given)
	return s.OpenWindow(ctx, place, coleo.WindowEnviron(a.host.Environ, place))
}

// showMissing is for a session that this host agent has just attached to. It opens the window if
// nobody has begun to open it. The host agent that started the session was killed before it could
// do that.
func (a *arm) showMissing(s coleo.Session) {
	shown, ok := s.(coleo.Windowed)
	if !ok || shown.Window().State != "" {
		return
	}
	a.host.runs.Go(func() {
		ctx, cancel := context.WithTimeout(a.host.ctx, windowTimeout)
		defer cancel()
		if err := a.showWindow(ctx, shown, nil); err != nil && ctx.Err() == nil {
			a.host.Log.Warn("open the window of an arm", "arm", a.name(), "error", err)
		}
	})
}
