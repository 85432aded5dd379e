//go:build !linux

package process

import "coleo.dev"

// Watch checks one process repeatedly.
type Watch struct{ ID coleo.Identity }

// NewWatch returns a Watch of the process with the identity id. It never returns an error on this
// system.
func NewWatch(id coleo.Identity) (*Watch, error) { return &Watch{ID: id}, nil }

// Look returns the Liveness of the process.
func (w *Watch) Look() Liveness { return LookQuickly(w.ID) }

// Close ends the watch.
func (w *Watch) Close() error { return nil }
