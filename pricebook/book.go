// Package pricebook says what models cost, and who has told each price. It has prices that
// are a part of Coleo, those that 'coleo models refresh' has fetched, and the user's own.
//
// Looking up a price makes no network call. Only Refresh makes one, and only if a user has
// named an address.
package pricebook

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/modelresolver"
)

// Book has the prices of models. Its methods can be called at the same time. The zero Book
// has the six prices of the published specification only.
type Book struct {
	overrides map[string]coleo.Price
	layers    []*Prices // the one that counts first at the front
}

// New returns a book in which the prices of overrides count first, by PROVIDER/MODEL or
// MODEL. Then come the layers in their order, which can be nil.
func New(overrides map[string]coleo.Price, layers ...*Prices) *Book {
	layers = slices.DeleteFunc(layers, func(p *Prices) bool { return p == nil })
	return &Book{overrides, layers}
}

// Prices are the prices of one source, by PROVIDER/MODEL.
type Prices struct {
	Source coleo.PriceSource
	Date   string // when the source told them, as 2026-01-31
	ByName map[string]coleo.Price
}

// Override returns the user's own price of a model. The argument provider can be "".
func (b *Book) Override(provider, model string) (coleo.Price, bool) {
	for _, name := range []string{coleo.ModelName(provider, model), model} {
		if p, ok := b.overrides[name]; ok {
			return p, true
		}
	}
	return coleo.Price{}, false
}

// Find returns the price of a model. If the argument provider is "", it looks at the
// vendors of models, and a date or "latest" at the end of the name does not matter. If
// nobody knows the price, Find returns false.
func (b *Book) Find(provider, model string) (coleo.Price, bool) {
	if p, ok := b.Override(provider, model); ok {
		return p, true
	}
	for _, layer := range b.layers {
		if p, ok := layer.find(provider, model); ok {
			p.Source, p.Date = layer.Source, layer.Date
			return p, true
		}
	}
	if c, ok := modelresolver.Published(model); ok {
		rates := coleo.Rates{Input: c.Input, Output: c.Output, CacheRead: c.Input, CacheWrite: c.Input}
		return coleo.Price{Rates: rates, Source: coleo.PriceBook}, true
	}
	return coleo.Price{}, false
}

// vendors are the providers that make models themselves, in the order in which a model
// without a provider is looked up.
var vendors = []string{"anthropic", "openai", "google", "xai", "deepseek", "mistral", "alibaba", "moonshotai", "zai",
	"minimax", "meta", "cohere"}

// release matches what names a release of a model at the end of its name.
var release = regexp.MustCompile(`-(20\d{6}|20\d\d-\d\d-\d\d|latest)$`)

func (p *Prices) find(provider, model string) (coleo.Price, bool) {
	names := []string{coleo.ModelName(provider, model)}
	if provider == "" {
		names = nil
		for _, name := range []string{model, release.ReplaceAllString(model, "")} {
			for _, vendor := range vendors {
				names = append(names, vendor+"/"+name)
			}
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

// Of returns the models of a provider with their prices, sorted by name. A price of the
// user's own replaces that of the layers.
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

// Fill returns a copy of a catalogue with prices for the models without one. A price of
// the user's own replaces that of the catalogue.
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
