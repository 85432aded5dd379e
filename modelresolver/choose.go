package modelresolver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"coleo.dev"
)

// ModelRequest is a request for a model.
type ModelRequest struct {
	Provider string
	Model    string // the name of the model; it can be PROVIDER/MODEL if Provider is empty
	// Strategy defines which other models are allowed. Empty means coleo.FallbackAny.
	Strategy coleo.FallbackStrategy
	// Cost is the price of the requested model. Choose uses it only if the catalogue has no price for
	// this model. nil means that the price is unknown.
	Cost *Cost
}

// Choice is the model to use. Asked is the requested model with its price. Used is the chosen model
// with its price.
type Choice struct {
	Resolution
	Asked coleo.PricedModel `json:"asked"`
	Used  coleo.PricedModel `json:"used"`
}

// Choose resolves a request. With coleo.FallbackAny, it returns what Resolve returns. A stricter
// strategy allows another model only at certain prices. Choose then returns the requested model if it
// is available, and otherwise the first allowed model of this list:
//
//   - the requested model at another provider
//   - another model of the requested provider
//   - any other model
//
// If several models match the same line, Choose takes the most expensive of them, because its price is the
// nearest to the price of the requested model. If prices are equal, the ids decide. Under a stricter
// strategy, Choose never takes another model with an unknown price. If the price of the requested model is
// unknown, it takes no other model at all.
//
// Choose returns ENotFound if there is no allowed model. The error names some available models.
func Choose(c Catalog, w ModelRequest) (Choice, error) {
	if w.Provider == "" {
		w.Provider, w.Model = Split(w.Model)
	}
	r := Resolve(c, w.Provider, w.Model)
	asked := c.costOf(w)
	if r.Fallback && w.Strategy != "" && w.Strategy != coleo.FallbackAny {
		o, ok := nearest(c, w, asked)
		if !ok {
			return Choice{}, refusalError(c, w, asked)
		}
		r = o.resolution(fmt.Sprintf("Model %q not available, using %q at a price that is %s", coleo.ModelName(w.Provider,
			w.Model), o.name(), priceWord[w.Strategy]))
	}
	used := pricedModel(r.ProviderID, r.ModelID, c.costOf(ModelRequest{Provider: r.ProviderID, Model: r.ModelID}))
	if !r.Fallback {
		return Choice{r, used, used}, nil
	}
	return Choice{r, pricedModel(w.Provider, w.Model, asked), used}, nil
}

// priceWord describes an allowed price in a sentence, relative to the price of the requested model.
var priceWord = map[coleo.FallbackStrategy]string{
	coleo.FallbackSamePrice: "the same", coleo.FallbackCheaper: "not higher",
}

func pricedModel(provider, model string, known *Offer) coleo.PricedModel {
	out := coleo.PricedModel{Model: coleo.ModelName(provider, model)}
	if known != nil && known.Source != coleo.PriceUnknown {
		rates := coleo.Rates{Input: known.Cost.Input, Output: known.Cost.Output, CacheRead: known.Cost.Input,
			CacheWrite: known.Cost.Input}
		out.Price = &coleo.Price{Rates: rates, Source: known.Source}
	}
	return out
}

// costOf returns the requested model with its price, even if its provider is not connected. It
// returns nil if the price is unknown.
func (c Catalog) costOf(w ModelRequest) *Offer {
	for _, p := range c.Providers {
		for _, m := range p.Models {
			if o := offerOf(p, m); p.ID == w.Provider && m.ID == w.Model && o.Source != coleo.PriceUnknown {
				return &o
			}
		}
	}
	if w.Cost != nil {
		return &Offer{Cost: *w.Cost, Source: coleo.PriceBuiltIn}
	}
	if cost, ok := book[w.Model]; ok {
		return &Offer{Cost: cost, Source: coleo.PriceBook}
	}
	return nil
}

// allows reports whether a strategy allows the price of offer o in place of the price of the
// requested model.
func allows(s coleo.FallbackStrategy, asked *Offer, o Offer) bool {
	if asked == nil || o.Source == coleo.PriceUnknown {
		return false
	}
	switch s {
	case coleo.FallbackSamePrice:
		return o.Cost == asked.Cost
	case coleo.FallbackCheaper:
		return o.Cost.Input <= asked.Cost.Input && o.Cost.Output <= asked.Cost.Output
	case coleo.FallbackNone, coleo.FallbackAny:
	}
	return false
}

// nearest returns the allowed offer that is nearest to the request.
func nearest(c Catalog, w ModelRequest, asked *Offer) (Offer, bool) {
	var allowed []Offer
	for _, o := range AvailableByCost(c) {
		if allows(w.Strategy, asked, o) {
			allowed = append(allowed, o)
		}
	}
	if len(allowed) == 0 {
		return Offer{}, false
	}
	far := func(o Offer) int {
		switch {
		case o.ModelID == w.Model:
			return 0
		case o.ProviderID == w.Provider:
			return 1
		}
		return 2
	}
	return slices.MinFunc(allowed, func(a, b Offer) int {
		return cmp.Or(far(a)-far(b), cmp.Compare(b.Cost.Total(), a.Cost.Total()))
	}), true
}

// mostNamed is the largest number of models that an error names. Six names fit into two lines of a
// terminal.
const mostNamed = 6

// refusalError returns the error for a request that no allowed model can satisfy.
func refusalError(c Catalog, w ModelRequest, asked *Offer) error {
	offers := AvailableByCost(c)
	own := func(o Offer) bool { return o.ProviderID == w.Provider || o.ModelID == w.Model }
	slices.SortStableFunc(offers, func(a, b Offer) int { // models with the requested provider or name come first
		switch {
		case own(a) == own(b):
			return 0
		case own(a):
			return -1
		}
		return 1
	})
	var names []string
	for _, o := range offers[:min(len(offers), mostNamed)] {
		names = append(names, o.name())
	}
	if more := len(offers) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("or one of %d more ('coleo models list')", more))
	}
	why := "the fallback strategy " + string(w.Strategy) + " takes no other one"
	switch {
	case w.Strategy == coleo.FallbackNone:
	case asked == nil:
		why += ", because the price of the requested model is unknown"
	default:
		why += fmt.Sprintf(" than at a price that is %s ($%g in, $%g out)", priceWord[w.Strategy], asked.Cost.Input,
			asked.Cost.Output)
	}
	return coleo.Errorf(coleo.ENotFound, "the model %q is not available, and %s; nothing was done; there are %s",
		coleo.ModelName(w.Provider, w.Model), why, strings.Join(names, ", "))
}

func (o Offer) name() string { return coleo.ModelName(o.ProviderID, o.ModelID) }
