package models

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pricebook"
	"coleo.dev/registry"
)

// catalogue contains two models of the provider p and one of the provider q. Only p is connected.
const catalogue = `{"providers":[
	{"id":"p","models":[{"id":"big","cost":{"input":3,"output":15}},{"id":"small","cost":{"input":1,"output":5}}]},
	{"id":"q","models":[{"id":"other","cost":{"input":1,"output":5}}]}],"connected":["p"]}`

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// resolver returns a Resolver for which the catalogue is the given text, or the given error.
func resolver(t *testing.T, text string, err error) *Resolver {
	t.Helper()
	reg, bad := registry.New("", []string{"none"})
	if bad != nil {
		t.Fatal(bad)
	}
	return New(Config{Harnesses: reg, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
		Providers: func(context.Context) (json.RawMessage, error) { return json.RawMessage(text), err },
		Prices:    func() *pricebook.Book { return pricebook.New(nil, pricebook.BuiltIn()) }})
}

func TestAModelThatIsNotAvailableIsReplacedAsFarAsItIsAllowed(t *testing.T) {
	t.Parallel()
	away := coleo.Errorf(coleo.EUnavailable, "no host agent runs")
	for name, c := range map[string]struct {
		text     string
		err      error
		harness  string
		config   coleo.SpawnConfig
		strategy coleo.FallbackStrategy
		want     string
		code     coleo.Code
	}{
		"it is available": {catalogue, nil, "opencode", coleo.SpawnConfig{Provider: "p", Model: "small"}, "", "p/small", ""},
		"it is not": {catalogue, nil, "opencode", coleo.SpawnConfig{Provider: "q", Model: "other"}, "cheaper", "p/small",
			""},
		"nothing may replace it": {catalogue, nil, "opencode", coleo.SpawnConfig{Provider: "q", Model: "other"}, "none", "",
			coleo.ENotFound},
		"an unknown strategy": {catalogue, nil, "opencode", coleo.SpawnConfig{Provider: "p", Model: "small"}, "nope", "",
			coleo.EInvalid},
		"a server of the user's own": {catalogue, nil, "opencode",
			coleo.SpawnConfig{Provider: "q", Model: "other", Endpoint: "http://a.example"}, "none", "q/other", ""},
		"the scripted model": {catalogue, nil, "opencode", coleo.SpawnConfig{Model: coleo.ModelScripted}, "none",
			coleo.ModelScripted, ""},
		"no model": {catalogue, nil, "opencode", coleo.SpawnConfig{}, "none", "", ""},
		"no catalogue": {"", away, "opencode",
			coleo.SpawnConfig{Provider: "q", Model: "other"}, "none", "q/other", ""},
		"a broken catalogue": {"{", nil, "opencode",
			coleo.SpawnConfig{Provider: "q", Model: "other"}, "none", "", coleo.EInvalid},
		"a harness with names of models": {catalogue, nil, "claude-code", coleo.SpawnConfig{Model: "gtp"}, "", "",
			coleo.EInvalid},
		"one of these names": {catalogue, nil, "claude-code", coleo.SpawnConfig{Model: "opus"}, "none", "opus",
			""},
		"a harness that nobody knows": {catalogue, nil, "nope", coleo.SpawnConfig{Model: "opus"}, "", "", coleo.EInvalid},
	} {
		arm := coleo.Arm{Harness: c.harness, Provider: c.config.Provider, Model: c.config.Model}
		asked := coleo.ModelName(arm.Provider, arm.Model)
		change, err := resolver(t, c.text, c.err).Resolve(t.Context(), &arm, &c.config, false, c.strategy)
		got := coleo.ModelName(c.config.Provider, c.config.Model)
		if coleo.ErrorCode(err) != c.code || err == nil && (got != c.want ||
			coleo.ModelName(arm.Provider, arm.Model) != got) {
			t.Errorf("%s: %s, and %s/%s in the row, %v; want %s, %s", name, got, arm.Provider, arm.Model, err, c.want, c.code)
		}
		if err == nil && (change != nil) != (c.want != asked) || change != arm.ModelFallback {
			t.Errorf("%s: the change is %+v, and %+v in the row", name, change, arm.ModelFallback)
		}
		if change != nil && (change.Asked.Model != asked || change.Used.Model != c.want || !change.Time.Equal(now)) {
			t.Errorf("%s: the change is %+v", name, change)
		}
	}
}

func TestAReplacedModelIsTriedAgainAndToldOfOnce(t *testing.T) {
	t.Parallel()
	seen := &coleo.ModelFallback{Asked: coleo.PricedModel{Model: "q/other"}, Used: coleo.PricedModel{Model: "p/small"},
		Strategy: coleo.FallbackCheaper, Time: now.Add(-time.Hour), Seen: true}
	start := func(text string, keeps bool) (coleo.Arm, coleo.SpawnConfig) {
		arm := coleo.Arm{Harness: "opencode", Provider: "p", Model: "small", ModelFallback: seen}
		c := coleo.SpawnConfig{Provider: "p", Model: "small", Chosen: &coleo.Chosen{Model: "p/small"}}
		if _, err := resolver(t, text, nil).Resolve(t.Context(), &arm, &c, keeps, ""); err != nil {
			t.Fatal(err)
		}
		return arm, c
	}
	arm, c := start(catalogue, true)
	if f := arm.ModelFallback; c.Model != "small" || f == nil || !f.Seen || !f.Time.Equal(seen.Time) ||
		f.Strategy != coleo.FallbackCheaper {
		t.Errorf("the same replacement again: %s, %+v; want nothing new", c.Model, f)
	}
	arm, c = start(strings.Replace(catalogue, `["p"]`, `["p","q"]`, 1), true)
	if arm.ModelFallback != nil || c.Provider != "q" || c.Model != "other" || arm.Model != "other" ||
		c.Chosen.Model != "" {
		t.Errorf("the model is available again: %s/%s, %+v, chosen %+v", c.Provider, c.Model, arm.ModelFallback, c.Chosen)
	}
	arm, c = start(catalogue, false)
	if arm.ModelFallback != nil || c.Model != "small" {
		t.Errorf("the replacement was asked for: %s, %+v", c.Model, arm.ModelFallback)
	}
}

func TestAnotherModelMayCostOnlyWhatThePolicyAllows(t *testing.T) {
	t.Parallel()
	i := coleo.Info{Catalog: true}
	small := coleo.Arm{Name: "ada", Provider: "p", Model: "small"}
	chosen := small
	chosen.ModelFallback = &coleo.ModelFallback{Strategy: coleo.FallbackAny}
	for name, c := range map[string]struct {
		arm      coleo.Arm
		fallback coleo.FallbackStrategy // the strategy in config.toml
		to       string
		allowed  bool
	}{
		"the same price":            {small, coleo.FallbackCheaper, "small", true},
		"a higher price":            {small, coleo.FallbackCheaper, "big", false},
		"any price":                 {small, coleo.FallbackAny, "big", true},
		"the arm's own policy":      {chosen, coleo.FallbackCheaper, "big", true},
		"a model without any price": {small, coleo.FallbackCheaper, "nope", false},
	} {
		r := resolver(t, catalogue, nil)
		r.Fallback = c.fallback
		if err := r.MayCost(t.Context(), c.arm, i, "p", c.to); (err == nil) != c.allowed {
			t.Errorf("%s: %v, want allowed %t", name, err, c.allowed)
		}
	}
}

func TestEachModelIsListedOnceAndTheMostUsedComesFirst(t *testing.T) {
	t.Parallel()
	arms := []coleo.Arm{{Provider: "p", Model: "small"}, {Provider: "p", Model: "small"},
		{Provider: "mine", Model: "own"}, {}}
	list, missing := resolver(t, catalogue, nil).List(t.Context(), arms)
	var names []string
	for _, m := range list {
		names = append(names, coleo.ModelName(m.Provider, m.Model))
	}
	if missing != "" || len(names) < 4 || names[0] != "p/small" || names[1] != "mine/own" || list[0].Uses != 2 {
		t.Fatalf("the list begins with %v, missing %q", names[:min(4, len(names))], missing)
	}
	if slices.Contains(names, "q/other") {
		t.Error("the list has a model whose provider is not connected")
	}
	if p := list[0].Price; p == nil || p.Output != 5 || !list[0].Connected ||
		!slices.Equal(list[0].Harnesses, []string{"opencode", "opencode-api", "opencode-tui"}) {
		t.Errorf("the first model is %+v with the price %+v", list[0], p)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a model is listed twice: %v", names)
	}
	away := coleo.Errorf(coleo.EUnavailable, "no host agent runs")
	list, missing = resolver(t, "", away).List(t.Context(), nil)
	if missing != away.Error() || len(list) == 0 {
		t.Errorf("without a catalogue: %d models, missing %q", len(list), missing)
	}
}
