// Package cost computes the cost of models, and how certain each amount is. Its functions are pure:
// the caller passes the usage and the prices.
package cost

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// Key is a word that names a grouping of usage. Programs send keys, so the meaning of a key never
// changes.
type Key string

// The keys.
const (
	ByArm     Key = "arm"
	ByDay     Key = "day" // the day in the time zone of the caller
	ByModel   Key = "model"
	ByProject Key = "project" // the work folder, or the repositories of the arm's worktrees
	ByRun     Key = "run"
	ByHarness Key = "harness"
)

var keys = []Key{ByArm, ByDay, ByModel, ByProject, ByRun, ByHarness}

// ParseKeys parses a list of keys, separated by commas. It returns EInvalid for an unknown or
// repeated key. For an empty text, it returns only ByArm.
func ParseKeys(text string) ([]Key, error) {
	var out []Key
	for word := range strings.SplitSeq(text, ",") {
		key := Key(strings.TrimSpace(word))
		switch {
		case key == "":
			continue
		case !slices.Contains(keys, key):
			return nil, coleo.Errorf(coleo.EInvalid, "cost cannot be grouped by %q: give arm, day, model, project, run or "+
				"harness, separated by commas", word)
		case slices.Contains(out, key):
			return nil, coleo.Errorf(coleo.EInvalid, "cost by %s is asked for twice", key)
		}
		out = append(out, key)
	}
	if len(out) == 0 {
		out = []Key{ByArm}
	}
	return out, nil
}

// Source is the source of a cost: Reported, or the source of the price from which the cost was
// computed.
type Source = coleo.PriceSource

// Reported means that the agent CLI itself reported the cost.
const Reported Source = "agent"

// Row is the cost of one group.
type Row struct {
	// By contains the value of each key of the group. Such a value is the name of an arm, a day such as
	// 2026-01-31, PROVIDER/MODEL, a folder, the id of a run, or a harness.
	By map[Key]string `json:"by"`
	Amount
}

// Amount is usage together with its cost.
type Amount struct {
	Calls     int     `json:"calls"`
	Input     int     `json:"input_tokens"`  // the number of input tokens, including those from and to caches
	Cached    int     `json:"cached_tokens"` // the part of Input that came from a cache
	Written   int     `json:"written_tokens"`
	Output    int     `json:"output_tokens"`
	Reasoning int     `json:"reasoning_tokens"`
	Dollars   float64 `json:"dollars"`
	// Parts contains the part of Dollars from each source. The part of coleo.PriceUnknown is always 0,
	// because Unpriced counts the tokens without a known price.
	Parts map[Source]float64 `json:"parts"`
	// Unpriced is the number of tokens without a known price. Dollars does not include
	// them.
	Unpriced int `json:"unpriced_tokens"`
	// Estimated is the number of tokens that the agent CLI has estimated. The model has reported
	// all other tokens.
	Estimated int `json:"estimated_tokens"`
	// TokensFrom lists the sources of the token counts: "transcript", "http" or "account".
	TokensFrom []string `json:"tokens_from"`
}

// Report contains a row for each group, and the total. The most expensive group comes first. If the
// rows are grouped with ByDay, the newest day comes first.
type Report struct {
	Rows  []Row  `json:"rows"`
	Total Amount `json:"total"`
	// Uncounted names the model calls that are missing from the figures, for each harness with such
	// calls.
	Uncounted []Uncounted `json:"uncounted"`
}

// Uncounted describes the model calls of a harness whose tokens the agent CLI does not report.
type Uncounted struct {
	Harness string `json:"harness"`
	Calls   string `json:"calls"` // a few words that describe the calls, such as "titles"
}

// UncountedIn returns the model calls that are missing from the usage in the list, sorted by harness. `words`
// describes these calls for a harness. It returns "" if the harness reports all calls.
func UncountedIn(list []coleo.UsageEntry, words func(harness string) string) []Uncounted {
	out := []Uncounted{}
	for _, u := range list {
		if calls := words(u.Harness); calls != "" {
			out = append(out, Uncounted{u.Harness, calls})
		}
	}
	slices.SortFunc(out, func(a, b Uncounted) int { return cmp.Compare(a.Harness, b.Harness) })
	return slices.Compact(out)
}

// Prices finds the prices of models. A pricebook.Book implements it.
type Prices interface {
	// Override returns the user's own price of a model.
	Override(provider, model string) (coleo.Price, bool)
	// Find returns the price of a model.
	Find(provider, model string) (coleo.Price, bool)
}

// Tell groups usage by keys and adds up the cost. Days begin at midnight in the given time zone.
//
// The user's own price of a model has the highest priority. Second comes the cost that the agent
// CLI has reported, and third the price that prices.Find returns.
func Tell(list []coleo.UsageEntry, by []Key, prices Prices, zone *time.Location) Report {
	groups := map[string]*Row{}
	out := Report{Rows: []Row{}, Total: newAmount()}
	for _, u := range list {
		values := map[Key]string{}
		var name []string
		for _, key := range by {
			values[key] = valueOf(u, key, zone)
			name = append(name, values[key])
		}
		id := strings.Join(name, "\x00")
		if groups[id] == nil {
			groups[id] = &Row{By: values, Amount: newAmount()}
		}
		dollars, source := Of(u, prices)
		groups[id].add(u, dollars, source)
		out.Total.add(u, dollars, source)
	}
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		out.Rows = append(out.Rows, *groups[id])
	}
	slices.SortStableFunc(out.Rows, func(a, b Row) int {
		if slices.Contains(by, ByDay) && a.By[ByDay] != b.By[ByDay] {
			return cmp.Compare(b.By[ByDay], a.By[ByDay]) // newest day first
		}
		return cmp.Compare(b.Dollars, a.Dollars)
	})
	return out
}

func valueOf(u coleo.UsageEntry, key Key, zone *time.Location) string {
	switch key {
	case ByArm:
		return u.ArmName
	case ByDay:
		return u.Hour.In(zone).Format("2006-01-02")
	case ByModel:
		return coleo.ModelName(u.Provider, u.Model)
	case ByProject:
		return u.Project
	case ByRun:
		return u.Run
	case ByHarness:
		return u.Harness
	}
	return ""
}

// Of returns the cost of an entry in US dollars, and the source of that cost. If no price is known,
// it returns 0 and coleo.PriceUnknown.
func Of(u coleo.UsageEntry, prices Prices) (float64, Source) {
	if p, ok := prices.Override(u.Provider, u.Model); ok {
		return p.Of(u.Usage, u.Context), p.Source
	}
	if u.Reported {
		return u.Cost, Reported
	}
	if p, ok := prices.Find(u.Provider, u.Model); ok {
		return p.Of(u.Usage, u.Context), p.Source
	}
	return 0, coleo.PriceUnknown
}

func newAmount() Amount { return Amount{Parts: map[Source]float64{}, TokensFrom: []string{}} }

func (a *Amount) add(u coleo.UsageEntry, dollars float64, source Source) {
	a.Calls += u.Calls
	a.Input, a.Cached, a.Written = a.Input+u.Input, a.Cached+u.Cached, a.Written+u.Written
	a.Output, a.Reasoning = a.Output+u.Output, a.Reasoning+u.Reasoning
	a.Dollars += dollars
	a.Parts[source] += dollars
	if source == coleo.PriceUnknown {
		a.Unpriced += u.Total()
	}
	if u.Approximate {
		a.Estimated += u.Total()
	}
	if u.Source != "" && !slices.Contains(a.TokensFrom, u.Source) {
		a.TokensFrom = append(a.TokensFrom, u.Source)
		slices.Sort(a.TokensFrom)
	}
}
