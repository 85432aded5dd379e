package cost

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// somePrices contains prices. A key is PROVIDER/MODEL, or "own PROVIDER/MODEL" for the user's own
// price.
type somePrices map[string]coleo.Price

func (p somePrices) Override(provider, model string) (coleo.Price, bool) {
	price, ok := p["own "+coleo.ModelName(provider, model)]
	return price, ok
}

func (p somePrices) Find(provider, model string) (coleo.Price, bool) {
	price, ok := p[coleo.ModelName(provider, model)]
	return price, ok
}

var prices = somePrices{
	"a/big": {Rates: coleo.Rates{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 2}, Source: coleo.PriceBuiltIn,
		Tiers: []coleo.PriceTier{{Above: 200_000, Rates: coleo.Rates{Input: 2, Output: 20, CacheRead: 0.2, CacheWrite: 4}}}},
	"a/mine":     {Rates: coleo.Rates{Input: 100, Output: 100}, Source: coleo.PriceBuiltIn},
	"own a/mine": {Rates: coleo.Rates{Input: 3, Output: 3}, Source: coleo.PriceOverride},
}

func entry(arm, hour, model string, u coleo.Usage) coleo.UsageEntry {
	at, err := time.Parse("2006-01-02T15", hour)
	if err != nil {
		panic(err)
	}
	if u.Source == "" {
		u.Source = "transcript"
	}
	return coleo.UsageEntry{ArmName: arm, Run: "r-" + arm, Harness: "h", Project: "/w/" + arm, Provider: "a", Model: model,
		Hour: at, Calls: 1, Reported: u.Cost > 0, Usage: u}
}

const million = 1_000_000

func TestWhatSomethingCostsAndWhoSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model   string
		usage   coleo.Usage
		context int
		want    string
	}{
		"input and output": {"big", coleo.Usage{Input: million, Output: million}, 0, "11 built-in"},
		"caches cost less or more": {"big", coleo.Usage{Input: million, Cached: million / 2, Written: million / 4}, 0,
			"0.8 built-in"},
		"a large call is dearer":      {"big", coleo.Usage{Input: million, Cached: million / 2}, 256_000, "1.1 built-in"},
		"reasoning is output":         {"big", coleo.Usage{Output: million, Reasoning: million}, 0, "10 built-in"},
		"what the agent CLI has said": {"big", coleo.Usage{Input: million, Cost: 0.5}, 0, "0.5 agent"},
		"the user's price goes first": {"mine", coleo.Usage{Input: million, Cost: 0.5}, 0, "3 override"},
		"nobody knows":                {"odd", coleo.Usage{Input: 5, Output: 6}, 0, "0 unknown, 11 unpriced"},
		"an estimate": {"big", coleo.Usage{Input: million, Approximate: true, Source: "account"}, 0,
			"1 built-in, 1000000 estimated"},
	} {
		e := entry("x", "2026-01-31T10", c.model, c.usage)
		e.Context = c.context
		r := Tell([]coleo.UsageEntry{e}, []Key{ByArm}, prices, time.UTC)
		got := fmt.Sprintf("%g", math.Round(r.Total.Dollars*1e9)/1e9)
		for source := range r.Total.Parts {
			got += " " + string(source)
		}
		if n := r.Total.Unpriced; n > 0 {
			got += fmt.Sprintf(", %d unpriced", n)
		}
		if n := r.Total.Estimated; n > 0 {
			got += fmt.Sprintf(", %d estimated", n)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestUsageIsGroupedByEachKey(t *testing.T) {
	t.Parallel()
	list := []coleo.UsageEntry{
		entry("one", "2026-01-31T10", "big", coleo.Usage{Input: million}),
		entry("one", "2026-01-31T23", "big", coleo.Usage{Input: million, Source: "http"}),
		entry("two", "2026-01-31T10", "mine", coleo.Usage{Input: million}),
	}
	east := time.FixedZone("east", 2*3600)
	for by, want := range map[string]string{
		"arm":       "two 3 | one 2",
		"day":       "2026-02-01 1 | 2026-01-31 4", // in this time zone, 23:00 UTC belongs to the next day
		"model":     "a/mine 3 | a/big 2",
		"project":   "/w/two 3 | /w/one 2",
		"run":       "r-two 3 | r-one 2",
		"harness":   "h 5",
		"arm,day":   "one 2026-02-01 1 | two 2026-01-31 3 | one 2026-01-31 1",
		"day, arm":  "2026-02-01 one 1 | 2026-01-31 two 3 | 2026-01-31 one 1",
		"":          "two 3 | one 2",
		"arm,arm":   "asked for twice",
		"arm,phase": `"phase"`,
	} {
		keys, err := ParseKeys(by)
		got := ""
		for i, row := range Tell(list, keys, prices, east).Rows {
			if i > 0 {
				got += " | "
			}
			for _, key := range keys {
				got += row.By[key] + " "
			}
			got += fmt.Sprintf("%g", row.Dollars)
		}
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("by %s: %s, want %s", by, got, want)
		}
	}
	if total := Tell(list, []Key{ByArm}, prices, east).Total; total.Dollars != 5 || total.Calls != 3 ||
		strings.Join(total.TokensFrom, ",") != "http,transcript" {
		t.Errorf("the total is %+v", total)
	}
}

func TestTheCallsThatTheFiguresLackAreNamedOnce(t *testing.T) {
	t.Parallel()
	u := coleo.Usage{Input: 1}
	list := []coleo.UsageEntry{entry("x", "2026-01-31T10", "big", u), entry("y", "2026-01-31T10", "big", u),
		entry("z", "2026-01-31T10", "big", u)}
	list[1].Harness, list[2].Harness = "g", "whole"
	words := map[string]string{"h": "titles", "g": "side requests"}
	got := fmt.Sprint(UncountedIn(append(list, list...), func(harness string) string { return words[harness] }))
	if want := "[{g side requests} {h titles}]"; got != want {
		t.Errorf("not counted are %s, want %s", got, want)
	}
}
