package modelresolver

// Source says where a price comes from.
type Source string

// The sources, from the best to the worst.
const (
	FromCatalog Source = "catalog" // whoever publishes the catalogue names it
	FromBook    Source = "book"    // our own price book, which ages
	Unknown     Source = "unknown" // nobody names one
)

// unknownCost is taken for a model that nobody names a price of: dearer than
// most, so that it is not chosen for being unknown (spec section 10).
var unknownCost = Cost{Input: 5, Output: 20}

// book lists prices for catalogues that name none. The figures are the six of
// the published Coleo specification, section 10, written down on 2026-11-21;
// they are not checked against the sellers' pages, and any price in a catalogue
// goes before them.
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
