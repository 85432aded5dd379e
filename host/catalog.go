package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// providers returns a model catalogue. It asks one installed agent CLI after another, and returns
// the first catalogue that it gets.
func (h *Host) providers(ctx context.Context, _ struct{}) (any, error) {
	err := error(coleo.Errorf(coleo.ENotInstalled, "no agent CLI that keeps a catalogue of models is installed on %s",
		h.Hostname))
	for _, name := range h.Registry.List() {
		harness, getErr := h.Registry.Get(name)
		if getErr != nil {
			continue
		}
		c, ok := harness.(coleo.Cataloguer)
		if !ok || !h.installed(harness.Info().Command) {
			continue
		}
		var raw json.RawMessage
		if raw, err = h.catalog(ctx, c); err == nil {
			return raw, nil
		}
	}
	return nil, err
}

func (h *Host) catalog(ctx context.Context, c coleo.Cataloguer) (json.RawMessage, error) {
	dir, err := os.MkdirTemp(h.Dir, "catalog-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the catalogue: %w", err)
	}
	defer os.RemoveAll(dir)
	return c.Catalog(ctx, coleo.SpawnConfig{Dir: dir, Workdir: dir, Path: h.Path, Environ: h.Environ})
}

// The method capabilities returns the names of the harnesses whose agent CLIs are installed on this
// machine.
func (h *Host) capabilities() []string {
	var out []string
	for _, name := range h.Registry.List() {
		harness, err := h.Registry.Get(name)
		if err == nil && h.installed(harness.Info().Command) {
			out = append(out, name)
		}
	}
	return out
}

func (h *Host) installed(command string) bool {
	dirs := append([]string{}, h.Path...)
	for _, kv := range h.Environ {
		if len(kv) > 5 && kv[:5] == "PATH=" {
			dirs = append(dirs, filepath.SplitList(kv[5:])...)
		}
	}
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, command))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// logins reports, for each installed agent CLI, whether this host's user is logged in to it. It
// returns no secret.
func (h *Host) logins(context.Context, struct{}) (any, error) {
	out := []coleo.Login{}
	for _, name := range h.Registry.List() {
		harness, err := h.Registry.Get(name)
		if err != nil || !h.installed(harness.Info().Command) {
			continue
		}
		if l, ok := harness.(coleo.Logged); ok && !harness.Info().NoModel {
			login := l.Login(h.Environ)
			login.Host = h.ID
			out = append(out, login)
		}
	}
	return out, nil
}

// setDefaultModel stores the model of the arm's next start. A running agent CLI keeps its model.
func (a *arm) setDefaultModel(ctx context.Context, model string) (bus.ModelReport, error) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.mu.Lock()
	from := a.runsModel()
	a.mu.Unlock()
	err := a.choose(ctx, func(c *coleo.Chosen) {
		c.Model = model
		delete(c.Modes, c.Mode) // the model of the mode would come first
	})
	return bus.ModelReport{ModelSwitch: coleo.ModelSwitch{From: from, To: model, Pending: true}, Chosen: a.chosen()}, err
}

// setModel gives the running agent CLI another model, and records the change.
func (a *arm) setModel(ctx context.Context, s coleo.Session, model string, insteadOf *coleo.ModelFallback) error {
	setter, ok := s.(coleo.ModelSetter)
	if !ok {
		return coleo.Errorf(coleo.EUnsupported, "the harness of arm %s cannot change the model of a running agent CLI",
			a.name())
	}
	if err := setter.SetModel(ctx, model); err != nil {
		return err
	}
	return a.tellModel(context.WithoutCancel(ctx), model, insteadOf)
}

// tellModel stores the model that the agent CLI now uses. If the model has changed, tellModel
// appends an event.
func (a *arm) tellModel(ctx context.Context, model string, insteadOf *coleo.ModelFallback) error {
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		was := a.runsModel()
		if r.Provider, r.Model = coleo.SplitModel(model); was == model {
			return nil
		}
		next, events := r.Trace.Choose(coleo.ModelChanged{From: was, To: model, Ordered: true,
			Fallback: insteadOf}, a.host.Now().UTC())
		r.Trace = next
		return ofArm(r.ID, events)
	})
}
