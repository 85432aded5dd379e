// Package modelresolver chooses a provider and a model that are available. If the
// requested model is not available, it chooses another model and returns the reason.
//
// Package modelresolver has pure functions only: it calls no server and reads no file.
// The caller passes the catalogue, either as a Catalog or as the published JSON.
package modelresolver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"coleo.dev"
)

// Cost is the price of a model in US dollars per million tokens.
type Cost struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Total returns the sum of the input price and the output price. Of two models, the one with the
// smaller sum is cheaper.
func (c Cost) Total() float64 { return c.Input + c.Output }

// Model is one model of a provider.
type Model struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Cost *Cost  `json:"cost,omitempty"` // the price; nil if the catalogue has none
	// Source names the source of Cost. It is empty if Cost comes from the catalogue itself.
	Source coleo.PriceSource `json:"price_source,omitempty"`
}

// Provider is an organization or program that offers models.
type Provider struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Models []Model `json:"models"`
}

// Catalog lists the available models. Connected lists the ids of the providers for which the user
// has credentials. If Connected is empty, Coleo does not know these providers, and treats every
// provider as connected.
type Catalog struct {
	Providers []Provider `json:"providers"`
	Connected []string   `json:"connected"`
}

// Resolution is the provider and the model to use. If they differ from the request, Fallback is
// true and Reason contains the reason. Otherwise Reason is empty.
type Resolution struct {
	ProviderID   string `json:"provider"`
	ModelID      string `json:"model"`
	ProviderName string `json:"provider_name"`
	ModelName    string `json:"model_name"`
	Fallback     bool   `json:"fallback"`
	Reason       string `json:"reason"`
}

// Offer is a model that a provider offers, with its price.
type Offer struct {
	ProviderID   string `json:"provider"`
	ProviderName string `json:"provider_name"`
	ModelID      string `json:"model"`
	ModelName    string `json:"model_name"`
	Cost         Cost   `json:"cost"`
	// Source names the source of the price. If Source is coleo.PriceUnknown, Cost is only a guess.
	Source coleo.PriceSource `json:"price_source"`
}

// Split splits "provider/model" at the first slash. The model can contain further slashes. If there
// is no slash, the whole text is the model.
func Split(combined string) (provider, model string) {
	provider, model, found := strings.Cut(combined, "/")
	if !found {
		return "", combined
	}
	return provider, model
}

// Resolve returns the requested provider and model if they are available. Otherwise it returns the
// first available model of this list:
//
//   - the cheapest model of the requested provider
//   - the requested model at its cheapest provider
//   - the cheapest of all models
//
// If the provider is empty, the model can have the form "provider/model". If the request names no
// provider or no model, Resolve chooses one, and this choice is not a fallback. If no model is
// available, Resolve returns the requested provider and model.
//
// Models of unknown price come after all models of known price. Resolve follows the strategy
// coleo.FallbackAny. See Choose for stricter strategies.
func Resolve(c Catalog, provider, model string) Resolution {
	if provider == "" {
		provider, model = Split(model)
	}
	offers := AvailableByCost(c)
	if len(offers) == 0 {
		return Resolution{ProviderID: provider, ModelID: model, ProviderName: provider, ModelName: model}
	}
	if o, ok := first(offers, func(o Offer) bool { return o.ProviderID == provider && o.ModelID == model }); ok {
		return o.resolution("")
	}
	if o, ok := first(offers, func(o Offer) bool { return o.ProviderID == provider }); ok {
		return o.resolution(reason(model != "", `Model "%s" not available in %s, using cheapest alternative`,
			model, o.ProviderName))
	}
	if o, ok := first(offers, func(o Offer) bool { return o.ModelID == model }); ok {
		return o.resolution(reason(provider != "", `Provider "%s" not available, using %s`, provider, o.ProviderName))
	}
	return offers[0].resolution(reason(provider != "" || model != "", `Neither provider "%s" nor model "%s" available`,
		provider, model))
}

// reason formats the sentence for Resolution.Reason. It returns "" if userChose is false, because
// the request then left the choice to Resolve.
func reason(userChose bool, format string, args ...any) string {
	if !userChose {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func first(offers []Offer, fits func(Offer) bool) (Offer, bool) {
	i := slices.IndexFunc(offers, fits)
	if i < 0 {
		return Offer{}, false
	}
	return offers[i], true
}

func (o Offer) resolution(reason string) Resolution {
	return Resolution{
		ProviderID: o.ProviderID, ModelID: o.ModelID, ProviderName: o.ProviderName, ModelName: o.ModelName,
		Fallback: reason != "", Reason: reason,
	}
}

// AvailableByCost returns the models of all connected providers, cheapest first. Models
// of unknown price come last. Models with the same price are sorted by provider id and
// model id.
func AvailableByCost(c Catalog) []Offer {
	var out []Offer
	for _, p := range c.Providers {
		if len(c.Connected) > 0 && !slices.Contains(c.Connected, p.ID) {
			continue
		}
		for _, m := range p.Models {
			out = append(out, offerOf(p, m))
		}
	}
	slices.SortStableFunc(out, func(a, b Offer) int {
		return cmp.Or(a.countUnknown()-b.countUnknown(), cmp.Compare(a.Cost.Total(), b.Cost.Total()),
			cmp.Compare(a.ProviderID, b.ProviderID), cmp.Compare(a.ModelID, b.ModelID))
	})
	return out
}

func offerOf(p Provider, m Model) Offer {
	cost, source := price(m)
	return Offer{p.ID, cmp.Or(p.Name, p.ID), m.ID, cmp.Or(m.Name, m.ID), cost, source}
}

// countUnknown returns 1 if the price of the offer is unknown, and 0 otherwise.
func (o Offer) countUnknown() int {
	if o.Source == coleo.PriceUnknown {
		return 1
	}
	return 0
}
