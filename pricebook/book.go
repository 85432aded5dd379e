// Package pricebook has the prices of models, each with its source. The sources are a table inside
// Coleo, the prices that 'coleo models refresh' has fetched, and the user's own prices.
//
// Only Refresh uses the network, and it contacts only the address that the user has given.
package pricebook

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/modelresolver"
)

// Book contains the prices of models. It is safe for concurrent use. The zero Book contains only
// the six prices of Coleo's published specification.
type Book struct {
	overrides map[string]coleo.Price
	layers    []*Prices // highest priority first
}

// New returns a book. The user's own prices are keyed by PROVIDER/MODEL or MODEL, and have the highest priority. A
// layer contains the prices of one source, and has a higher priority than the layers after it. A layer can be nil.
func New(userPrices map[string]coleo.Price, layers ...*Prices) *Book {
	layers = slices.DeleteFunc(layers, func(p *Prices) bool { return p == nil })
	return &Book{userPrices, layers}
}

// Prices contains the prices of one source, keyed by PROVIDER/MODEL.
type Prices struct {
	Source coleo.PriceSource
	Date   string // the day on which the source published the prices, such as 2026-01-31
	ByName map[string]coleo.Price
}

// Override returns the user's own price of a model, or false if there is none. If provider is "", it also searches the
// prices of the vendors, because some agent CLIs name only the model. A release of the model, whose name ends with a
// date or "latest", has the model's price, unless the layers have another price for it.
func (b *Book) Override(provider, model string) (coleo.Price, bool) {
	if p, ok := b.override(provider, model); ok {
		return p, true
	}
	plain := release.ReplaceAllString(model, "")
	p, ok := b.override(provider, plain)
	if !ok || plain == model {
		return coleo.Price{}, false
	}
	released, listed := b.listed(provider, model)
	usual, _ := b.listed(provider, plain)
	return p, !listed || released.Rates == usual.Rates
}

func (b *Book) override(provider, model string) (coleo.Price, bool) {
	names := []string{coleo.ModelName(provider, model), model}
	if provider == "" {
		names = append(names, atVendors(model)...)
	}
	for _, name := range names {
		if p, ok := b.overrides[name]; ok {
			return p, true
		}
	}
	return coleo.Price{}, false
}

// listed returns the price of a model in the layers.
func (b *Book) listed(provider, model string) (coleo.Price, bool) {
	for _, layer := range b.layers {
		if p, ok := layer.find(provider, model); ok {
			p.Source, p.Date = layer.Source, layer.Date
			return p, true
		}
	}
	return coleo.Price{}, false
}

// atVendors returns the full names that a model has at the vendors.
func atVendors(model string) (out []string) {
	for _, vendor := range vendors {
		out = append(out, vendor+"/"+model)
	}
	return out
}

// Find returns the price of a model, or false if no source has one. It searches for the whole name
// first, and then for the name without a date or "latest" at its end. If provider is "", it
// searches the prices of the vendors.
func (b *Book) Find(provider, model string) (coleo.Price, bool) {
	if p, ok := b.Override(provider, model); ok {
		return p, true
	}
	if p, ok := b.listed(provider, model); ok {
		return p, true
	}
	if c, ok := modelresolver.Published(model); ok {
		rates := coleo.Rates{Input: c.Input, Output: c.Output, CacheRead: c.Input, CacheWrite: c.Input}
		return coleo.Price{Rates: rates, Source: coleo.PriceBook}, true
	}
	return coleo.Price{}, false
}

// vendors lists the providers that make models. For a model without a provider, Find searches them
// in this order.
var vendors = []string{"anthropic", "openai", "google", "xai", "deepseek", "mistral", "alibaba", "moonshotai", "zai",
	"minimax", "meta", "cohere"}

// release matches the date or "latest" at the end of a model's name.
var release = regexp.MustCompile(`-(20\d{6}|20\d\d-\d\d-\d\d|latest)$`)

func (p *Prices) find(provider, model string) (coleo.Price, bool) {
	names := []string{coleo.ModelName(provider, model)}
	if provider == "" {
		names = nil
		for _, name := range []string{model, release.ReplaceAllString(model, "")} {
			names = append(names, atVendors(name)...)
		}
		if strings.Contains(model, "/") {
			names = append(names, model)
		}
	}
	for _, name := range names {
		if price, ok := p.ByName[name]; ok {
			return price, true
		}
	}
	return coleo.Price{}, false
}

// Of returns the models of a provider with their prices, sorted by name. The user's own price of a model replaces
// the price from any other source.
func (b *Book) Of(provider string) []coleo.PricedModel {
	found := map[string]bool{}
	var out []coleo.PricedModel
	add := func(name string) {
		of, model := coleo.SplitModel(name)
		if of != provider || found[model] {
			return
		}
		found[model] = true
		price, _ := b.Find(provider, model)
		out = append(out, coleo.PricedModel{Model: name, Price: &price})
	}
	for name := range b.overrides {
		add(name)
	}
	for _, layer := range b.layers {
		for name := range layer.ByName {
			add(name)
		}
	}
	slices.SortFunc(out, func(x, y coleo.PricedModel) int { return cmp.Compare(x.Model, y.Model) })
	return out
}

// Fill returns a copy of a catalogue with prices for the models that have none. The user's own
// price of a model also replaces the price in the catalogue.
func (b *Book) Fill(c modelresolver.Catalog) modelresolver.Catalog {
	out := modelresolver.Catalog{Connected: c.Connected}
	for _, p := range c.Providers {
		p.Models = slices.Clone(p.Models)
		for i := range p.Models {
			m := &p.Models[i]
			price, ok := b.Override(p.ID, m.ID)
			if !ok && m.Cost == nil {
				price, ok = b.Find(p.ID, m.ID)
			}
			if ok {
				m.Cost, m.Source = &modelresolver.Cost{Input: price.Input, Output: price.Output}, price.Source
			}
		}
		out.Providers = append(out.Providers, p)
	}
	return out
}
