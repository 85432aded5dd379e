package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"coleo.dev"
)

// providers returns a model catalogue. It asks the installed agent CLIs that have a
// catalogue, one after another, and returns the first catalogue that it gets.
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

// logins tells to which installed agent CLIs this host's user is logged in. It returns no
// secret.
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
