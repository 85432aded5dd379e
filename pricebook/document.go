package pricebook

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"coleo.dev"
)

// MaxDocument is the largest size of a models.dev document that Coleo reads, in bytes. In
// September 2026 the document had 6 MB.
const MaxDocument = 64 << 20

// document contains the parts of https://models.dev/api.json that Coleo reads: the providers by id,
// each with its models by id.
type document map[string]struct {
	Models map[string]struct {
		Cost *cost `json:"cost"`
	} `json:"models"`
}

// cost contains prices in US dollars per million tokens.
type cost struct {
	rates
	Tiers []tier `json:"tiers"`
}

type rates struct {
	Input      *float64 `json:"input"`
	Output     *float64 `json:"output"`
	CacheRead  *float64 `json:"cache_read"`
	CacheWrite *float64 `json:"cache_write"`
}

type tier struct {
	rates
	Tier struct {
		Type string `json:"type"`
		Size int    `json:"size"`
	} `json:"tier"`
}

// ParseDocument parses the document of models.dev. It ignores unknown keys and models without a
// price. It returns EInvalid for an invalid price and for a document without any price. The error
// names the place and the reason.
func ParseDocument(data []byte) (map[string]coleo.Price, error) {
	out, err := parseDocument(data)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "document of prices: %v", err)
	}
	return out, nil
}

func parseDocument(data []byte) (map[string]coleo.Price, error) {
	if len(data) > MaxDocument {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", len(data), MaxDocument)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	out := map[string]coleo.Price{}
	for _, provider := range slices.Sorted(maps.Keys(d)) {
		models := d[provider].Models
		for _, model := range slices.Sorted(maps.Keys(models)) {
			name := provider + "/" + model
			if models[model].Cost == nil {
				continue
			}
			price, err := models[model].Cost.price()
			if err == nil && strings.ContainsFunc(name, unicode.IsControl) {
				err = fmt.Errorf("the name has control characters")
			}
			if err != nil {
				return nil, fmt.Errorf("%q: %w", name, err)
			}
			out[name] = price
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("it has no model with a price")
	}
	return out, nil
}

func (c *cost) price() (coleo.Price, error) {
	own, err := c.toRates()
	out := coleo.Price{Rates: own}
	for _, t := range c.Tiers {
		if t.Tier.Type != "context" || err != nil {
			continue
		}
		var r coleo.Rates
		if r, err = t.toRates(); err == nil {
			out.Tiers = append(out.Tiers, coleo.PriceTier{Above: coleo.ContextStep(t.Tier.Size), Rates: r})
		}
	}
	slices.SortStableFunc(out.Tiers, func(a, b coleo.PriceTier) int { return a.Above - b.Above })
	return out, err
}

// toRates returns the rates. A missing cache rate is the same as the input rate. toRates returns an
// error if the rate of input or output is missing, or if CheckRates refuses a rate.
func (r rates) toRates() (coleo.Rates, error) {
	if r.Input == nil || r.Output == nil {
		return coleo.Rates{}, fmt.Errorf("the price lacks input or output")
	}
	out := coleo.Rates{Input: *r.Input, Output: *r.Output, CacheRead: *r.Input, CacheWrite: *r.Input}
	if r.CacheRead != nil {
		out.CacheRead = *r.CacheRead
	}
	if r.CacheWrite != nil {
		out.CacheWrite = *r.CacheWrite
	}
	return out, CheckRates(out)
}

// mostDollars is the highest plausible price, in US dollars per million tokens. The highest known
// price is 600.
const mostDollars = 1e6

// CheckRates returns an error if a rate is negative, too high or not a number.
func CheckRates(r coleo.Rates) error {
	for _, f := range []float64{r.Input, r.Output, r.CacheRead, r.CacheWrite} {
		if !(f >= 0 && f <= mostDollars) || math.IsNaN(f) {
			return fmt.Errorf("%g cannot be a price", f)
		}
	}
	return nil
}
