// Package models decides which model an arm gets, and lists the models that exist. If a model is not
// available, it chooses another model, if the fallback strategy allows one.
//
// Package models does not change the model of an agent CLI. Host agents do that.
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

// Harnesses finds harnesses for a Resolver.
type Harnesses interface {
	// Get returns the harness with the given name, or EInvalid if there is no such harness.
	Get(name string) (coleo.Harness, error)
	// List returns the names of all harnesses.
	List() []string
}

// Config contains what a Resolver needs.
type Config struct {
	Harnesses Harnesses
	// Providers returns the catalogue of models as JSON. It returns EUnavailable if there is none.
	Providers func(context.Context) (json.RawMessage, error)
	Prices    func() *pricebook.Book
	Fallback  coleo.FallbackStrategy // the strategy for requests that name no strategy
	Log       *slog.Logger
	Now       func() time.Time
}

// Resolver chooses models. It has no state, and is safe for concurrent use.
type Resolver struct{ Config }

// New returns a resolver of models.
func New(c Config) *Resolver { return &Resolver{c} }

// catalog returns the model catalogue, with the prices that the price book adds.
func (r *Resolver) catalog(ctx context.Context) (modelresolver.Catalog, error) {
	raw, err := r.Providers(ctx)
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	c, err := modelresolver.ParseCatalog(raw)
	return r.Prices().Fill(c), err
}
