package modelresolver

import "coleo.dev"

// unknownCost is the price that is shown if the price is unknown. It is only a guess, so it never
// decides which model is cheaper: models of unknown price come after all others.
var unknownCost = Cost{Input: 5, Output: 20}

// book contains prices that Coleo uses only if the catalogue has no price. The six prices were
// copied from Coleo's published specification on 2026-11-21. They were not compared with the prices
// of the vendors.
var book = map[string]Cost{
	"gemini-2.5-flash": {Input: 0.075, Output: 0.30},
	"gpt-4o-mini":      {Input: 0.15, Output: 0.60},
	"gemini-2.5-pro":   {Input: 1.25, Output: 5},
	"gpt-4o":           {Input: 2.50, Output: 10},
	"claude-sonnet-4":  {Input: 3, Output: 15},
	"claude-opus-4":    {Input: 15, Output: 75},
}

// Published returns the price of a model in Coleo's published specification, or false if there is
// none.
func Published(model string) (Cost, bool) {
	c, ok := book[model]
	return c, ok
}

func price(m Model) (Cost, coleo.PriceSource) {
	switch c, ok := book[m.ID]; {
	case m.Cost != nil && m.Source != "":
		return *m.Cost, m.Source
	case m.Cost != nil:
		return *m.Cost, coleo.PriceCatalog
	case ok:
		return c, coleo.PriceBook
	}
	return unknownCost, coleo.PriceUnknown
}
