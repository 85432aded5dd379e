// Package models says which model an arm gets, and which models there are. If a model is not available,
// it chooses another one, as far as the fallback strategy allows it.
//
// Package models gives no agent CLI a model: host agents do that.
package models

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"coleo.dev"
	"coleo.dev/modelresolver"
	"coleo.dev/pricebook"
)

// Harnesses is what a Resolver needs to know of the harnesses.
type Harnesses interface {
	// Get returns the harness with the given name, or EInvalid if there is none.
	Get(name string) (coleo.Harness, error)
	// List returns the names of all harnesses.
	List() []string
}

// Config is what a Resolver needs.
type Config struct {
	Harnesses Harnesses
	// Providers returns the catalogue of models as JSON. It returns EUnavailable if there is none.
	Providers func(context.Context) (json.RawMessage, error)
	Prices    func() *pricebook.Book
	Fallback  coleo.FallbackStrategy // for requests without a strategy
	Log       *slog.Logger
	Now       func() time.Time
}

// Resolver chooses models. It has no state, and is safe for concurrent use.
type Resolver struct{ Config }

// New returns a resolver of models.
func New(c Config) *Resolver { return &Resolver{c} }

// catalog returns the model catalogue, including all prices that the price book adds.
func (r *Resolver) catalog(ctx context.Context) (modelresolver.Catalog, error) {
	raw, err := r.Providers(ctx)
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	c, err := modelresolver.ParseCatalog(raw)
	return r.Prices().Fill(c), err
}
