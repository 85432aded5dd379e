package modelresolver

// Source says where a price comes from.
type Source string

// The sources, from best to worst.
const (
	FromCatalog Source = "catalog" // the catalogue has the price
	FromBook    Source = "book"    // the variable book has the price, which can be outdated
	Unknown     Source = "unknown" // no price is known
)

// unknownCost is the price that is assumed if no price is known. It is higher than most
// prices. So a model is not chosen only because its price is unknown.
var unknownCost = Cost{Input: 5, Output: 20}

// book has prices for models without a price in the catalogue. The six prices were
// copied from Coleo's published specification on 2026-11-21. Nobody compared them with
// the prices of the vendors. If the catalogue has a price, the price in book is not
// used.
var book = map[string]Cost{
	"gemini-2.5-flash": {Input: 0.075, Output: 0.30},
	"gpt-4o-mini":      {Input: 0.15, Output: 0.60},
	"gemini-2.5-pro":   {Input: 1.25, Output: 5},
	"gpt-4o":           {Input: 2.50, Output: 10},
	"claude-sonnet-4":  {Input: 3, Output: 15},
	"claude-opus-4":    {Input: 15, Output: 75},
}

func price(m Model) (Cost, Source) {
	if m.Cost != nil {
		return *m.Cost, FromCatalog
	}
	if c, ok := book[m.ID]; ok {
		return c, FromBook
	}
	return unknownCost, Unknown
}
