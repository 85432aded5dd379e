package pricebook

import (
	"testing"

	"coleo.dev"
)

// Claude Code, Codex and Gemini CLI name a model without its provider, and often with the date of its release. The
// user's own price must apply then too. Otherwise `coleo models list` would show this price, but budgets and `coleo
// cost` would use another one.
func TestTheUsersOwnPriceAppliesToAModelWithoutProvider(t *testing.T) {
	t.Parallel()
	own := func(input float64) coleo.Price {
		return coleo.Price{Rates: coleo.Rates{Input: input}, Source: coleo.PriceOverride}
	}
	b := New(map[string]coleo.Price{"anthropic/claude-sonnet-4-5": own(1), "gpt-5": own(2), "openai/gpt-5": own(3),
		"anthropic/claude-haiku-4-5-20251001": own(4), "nobody/gpt-5.1": own(5), "gpt-4.1": own(6), "gpt-4o-mini": own(7),
		"openai/gpt-4o": own(8)}, BuiltIn())
	for _, c := range []struct {
		provider, model string
		input           float64
		source          coleo.PriceSource
	}{
		{"", "claude-sonnet-4-5", 1, coleo.PriceOverride},
		{"", "claude-sonnet-4-5-20250929", 1, coleo.PriceOverride},
		{"anthropic", "claude-sonnet-4-5-20250929", 1, coleo.PriceOverride},
		{"", "claude-haiku-4-5-20251001", 4, coleo.PriceOverride},
		{"", "claude-haiku-4-5", 1, coleo.PriceBuiltIn},
		{"", "gpt-5", 2, coleo.PriceOverride},
		{"openai", "gpt-5", 3, coleo.PriceOverride},
		{"azure", "gpt-5", 2, coleo.PriceOverride},
		{"", "gpt-5.1", 1.25, coleo.PriceBuiltIn},
		{"", "gpt-4o", 8, coleo.PriceOverride},
		{"", "gpt-4.1-20991231", 6, coleo.PriceOverride},
		{"openai", "gpt-4o-mini-2024-07-18", 7, coleo.PriceOverride},
		{"", "gpt-4o-2024-05-13", 5, coleo.PriceBuiltIn}, // this release has a price of its own
		{"opencode", "claude-sonnet-4-5", 3, coleo.PriceBuiltIn},
	} {
		if p, _ := b.Find(c.provider, c.model); p.Input != c.input || p.Source != c.source {
			t.Errorf("%q of %q costs %g (%s), want %g (%s)", c.model, c.provider, p.Input, p.Source, c.input, c.source)
		}
	}
}
