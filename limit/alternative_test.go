package limit

import (
	"strings"
	"testing"

	"coleo.dev"
)

func TestAListOfStepsIsRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"wait":                              "",
		"ask":                               "",
		"model:haiku":                       "model:haiku",
		"model:haiku, handover:codex ,wait": "model:haiku,handover:codex",
		"model:a/b:free,ask":                "model:a/b:free",
	} {
		on := coleo.OnLimit(text)
		if err := on.Check(); err != nil || string(coleo.OnLimitOf(on.Steps())) != want {
			t.Errorf("%q has the steps %v (%v), want %q", text, on.Steps(), err, want)
		}
		if on.Asks() != strings.HasSuffix(text, "ask") {
			t.Errorf("%q asks: %v", text, on.Asks())
		}
	}
	for _, text := range []string{"wait,model:haiku", "model:", "account:work", "haiku", "ask,wait", ",", "model:a b",
		strings.Repeat("model:x,", 9) + "wait"} {
		if err := coleo.OnLimit(text).Check(); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%q: %v, want an error", text, err)
		}
	}
}

func TestEachAlternativeIsTriedOnceAndOnlyWhereItHelps(t *testing.T) {
	const on = "model:haiku,handover:codex,wait"
	for _, c := range []struct {
		what      string
		kind      coleo.LimitKind
		on, tried coleo.OnLimit
		want      coleo.OnLimit
	}{
		{"a quota tries all", coleo.LimitQuota, on, "", "model:haiku,handover:codex"},
		{"a rate limit tries all", coleo.LimitRate, on, "", "model:haiku,handover:codex"},
		{"another model may be less busy", coleo.LimitOverload, on, "", "model:haiku"},
		{"another model has the same network", coleo.LimitNetwork, on, "", ""},
		{"another model has the same login", coleo.LimitLogin, on, "", "handover:codex"},
		{"a successor starts with a summary", coleo.LimitContext, on, "", "handover:codex"},
		{"a budget is the user's own", coleo.LimitBudget, on, "", ""},
		{"a loop is the user's own", coleo.LimitLoop, on, "", ""},
		{"nothing is tried twice", coleo.LimitQuota, on, "model:haiku", "handover:codex"},
		{"at the end it waits", coleo.LimitQuota, on, "model:haiku,handover:codex", ""},
	} {
		p := Plan(coleo.Limit{Kind: c.kind, Seen: seen}, "run", "arm", 0, c.on, c.tried)
		if p.Next != c.want || p.Tried != c.tried || p.Wake.IsZero() != (!c.kind.Passes()) {
			t.Errorf("%s: it is parked %+v, want next %q", c.what, p, c.want)
		}
	}
	quota := coleo.Limit{Kind: coleo.LimitQuota, Seen: seen}
	if p := Plan(quota, "run", "arm", 0, "model:haiku,ask", ""); !p.Wake.IsZero() {
		t.Errorf("an arm that asks goes on at %v", p.Wake)
	}
}

func TestATriedAlternativeIsNotTheNextOne(t *testing.T) {
	p := coleo.Parked{Next: "model:haiku,handover:codex", Doing: "model:haiku"}
	if p = AfterTry(p, "no such model"); p.Next != "handover:codex" || p.Tried != "model:haiku" || p.Doing != "" ||
		!strings.Contains(p.Failed, "model:haiku could not be done: no such model") {
		t.Errorf("after a failure: %+v", p)
	}
	if p = AfterTry(p, ""); p.Next != "" || p.Tried != "model:haiku,handover:codex" || p.Failed != "" {
		t.Errorf("after a success: %+v", p)
	}
	if _, ok := First(p); ok {
		t.Error("there is another alternative")
	}
	if got := coleo.OnLimit("model:a,handover:b,model:c,ask").After("handover:b"); got != "model:c,ask" {
		t.Errorf("the rest is %q", got)
	}
	if got := coleo.OnLimit("model:a").After("model:a"); got != coleo.OnLimit(coleo.OnLimitWait) {
		t.Errorf("the rest is %q", got)
	}
}

func TestNoModelIsDearerThanThePolicyAllows(t *testing.T) {
	price := func(in, out float64) *coleo.Price { return &coleo.Price{Rates: coleo.Rates{Input: in, Output: out}} }
	for _, c := range []struct {
		policy   coleo.FallbackStrategy
		from, to *coleo.Price
		ok       bool
	}{
		{"", price(1, 1), price(9, 9), true},
		{coleo.FallbackAny, nil, nil, true},
		{coleo.FallbackCheaper, price(3, 15), price(3, 15), true},
		{coleo.FallbackCheaper, price(3, 15), price(1, 5), true},
		{coleo.FallbackCheaper, price(3, 15), price(1, 16), false},
		{coleo.FallbackCheaper, price(3, 15), price(4, 5), false},
		{coleo.FallbackCheaper, price(3, 15), nil, false},
		{coleo.FallbackCheaper, nil, price(0, 0), false},
		{coleo.FallbackNone, price(3, 15), price(1, 5), true},
		{coleo.FallbackNone, price(3, 15), price(5, 25), false},
		{coleo.FallbackSamePrice, price(3, 15), price(3, 15), true},
		{coleo.FallbackSamePrice, price(3, 15), price(1, 5), false},
	} {
		if err := MayCost(c.policy, c.from, c.to); (err == nil) != c.ok {
			t.Errorf("%s from %+v to %+v: %v", c.policy, c.from, c.to, err)
		}
	}
}
