package registry

import (
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// Of returns a registry of exactly these harnesses. It reads no files.
func Of(list ...coleo.Harness) *Registry {
	r := &Registry{packs: packs{now: time.Now}, shared: terminal.NewShared(), builtin: map[string]coleo.Harness{}}
	for _, h := range list {
		r.builtin[h.Info().Name] = h
	}
	r.refresh()
	return r
}
