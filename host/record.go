package host

import (
	"context"

	"coleo.dev"
	"coleo.dev/bus"
)

// screen returns an arm's screen: of its live session, or as it stood.
func (h *Host) screen(_ context.Context, o bus.ScreenOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if !o.At.IsZero() {
		r, handle, err := a.recorder()
		if err != nil {
			return nil, err
		}
		return r.ScreenAt(handle, o.At)
	}
	s, err := a.live()
	if err != nil {
		return nil, err
	}
	t, ok := s.(coleo.Terminal)
	if !ok {
		return nil, a.noTerminal()
	}
	return t.Screen(), nil
}

// recording returns a piece of what an arm's terminal showed, also after the
// arm's end.
func (h *Host) recording(_ context.Context, o bus.RecordOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	r, handle, err := a.recorder()
	if err != nil {
		return nil, err
	}
	return r.Record(handle, o.From)
}

// recorder returns who can read what the arm's terminal showed, and of which
// start of the arm: the last.
func (a *arm) recorder() (coleo.Recorder, coleo.Handle, error) {
	a.mu.Lock()
	record := a.record
	a.mu.Unlock()
	if record.Handle == nil {
		return nil, coleo.Handle{}, coleo.Errorf(coleo.EExited, "arm %s has never run", record.Name)
	}
	harness, err := a.host.Registry.Get(record.Handle.Harness)
	if err != nil {
		return nil, coleo.Handle{}, err
	}
	r, ok := harness.(coleo.Recorder)
	if !ok {
		return nil, coleo.Handle{}, a.noTerminal()
	}
	return r, *record.Handle, nil
}

func (a *arm) noTerminal() error {
	return coleo.Errorf(coleo.EUnsupported, "arm %s has no screen: its harness speaks HTTP", a.record.Name)
}
