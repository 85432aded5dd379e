package models

import (
	"cmp"
	"context"
	"slices"

	"coleo.dev"
	"coleo.dev/brain/start"
	"coleo.dev/modelresolver"
	"coleo.dev/wire"
)

// List returns the models of all harnesses, each with its price and the number of the given arms that use it.
// The models with the largest numbers of arms come first. If there is no catalogue, `missing` contains the
// reason.
func (r *Resolver) List(ctx context.Context, arms []coleo.Arm) (list []wire.Model, missing string) {
	catalog, err := r.catalog(ctx)
	if err != nil {
		missing = err.Error()
	}
	l := modelList{at: map[string]int{}}
	r.listModels(&l, catalog)
	for _, arm := range arms {
		if arm.Model != "" {
			m := l.model(arm.Provider, arm.Model)
			m.Uses++
			if p, ok := r.Prices().Find(arm.Provider, arm.Model); ok && m.Price == nil {
				m.Price = &p
			}
		}
	}
	slices.SortStableFunc(l.models, func(x, y wire.Model) int { return y.Uses - x.Uses })
	return l.models, missing
}

// modelList collects models. It contains each model once.
type modelList struct {
	models []wire.Model
	at     map[string]int // the index of each model in the field models; the key is PROVIDER/MODEL
}

func (l *modelList) model(provider, model string) *wire.Model {
	name := coleo.ModelName(provider, model)
	at, ok := l.at[name]
	if !ok {
		at = len(l.models)
		l.at[name] = at
		l.models = append(l.models, wire.Model{Provider: provider, Model: model})
	}
	return &l.models[at]
}

// listModels adds the models of all harnesses to a list. The models of the catalogue come first.
func (r *Resolver) listModels(l *modelList, catalog modelresolver.Catalog) {
	var ofCatalog []string
	for _, name := range r.Harnesses.List() {
		if h, err := r.Harnesses.Get(name); err == nil && h.Info().Catalog {
			ofCatalog = append(ofCatalog, name)
		}
	}
	for _, o := range modelresolver.AvailableByCost(catalog) {
		m := l.model(o.ProviderID, o.ModelID)
		m.Name, m.Connected, m.Harnesses = o.ModelName, true, slices.Clone(ofCatalog)
		if o.Source != coleo.PriceUnknown {
			m.Price = r.priceOf(o)
		}
	}
	for _, name := range r.Harnesses.List() {
		h, err := r.Harnesses.Get(name)
		if err != nil || h.Info().ModelProvider == "" {
			continue
		}
		for _, priced := range r.Prices().Of(h.Info().ModelProvider) {
			provider, model := coleo.SplitModel(priced.Model)
			if start.KnownModel(h.Info(), provider, model) != nil {
				continue
			}
			m := l.model(provider, model)
			m.Harnesses = append(m.Harnesses, name)
			m.Price = cmp.Or(m.Price, priced.Price)
		}
	}
}

// priceOf returns the price of an offer. For cached tokens, it prefers the prices in the price
// book.
func (r *Resolver) priceOf(o modelresolver.Offer) *coleo.Price {
	p, ok := r.Prices().Find(o.ProviderID, o.ModelID)
	if ok && p.Input == o.Cost.Input && p.Output == o.Cost.Output {
		if p.Source != o.Source {
			p.Source, p.Date = o.Source, ""
		}
		return &p
	}
	rates := coleo.Rates{Input: o.Cost.Input, Output: o.Cost.Output, CacheRead: o.Cost.Input, CacheWrite: o.Cost.Input}
	return &coleo.Price{Rates: rates, Source: o.Source}
}
