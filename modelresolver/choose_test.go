package modelresolver

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"coleo.dev"
)

// pricedCatalog returns a catalogue with two prices for each model, written as "model=in/out".
func pricedCatalog(t *testing.T, lines ...string) Catalog {
	t.Helper()
	var c Catalog
	for _, l := range lines {
		id, models, _ := strings.Cut(l, ":")
		p := Provider{ID: strings.TrimSuffix(id, "*"), Name: strings.TrimSuffix(id, "*")}
		if strings.HasSuffix(id, "*") {
			c.Connected = append(c.Connected, p.ID)
		}
		for _, m := range strings.Fields(models) {
			name, text, ok := strings.Cut(m, "=")
			model := Model{ID: name, Name: name}
			if ok {
				model.Cost = new(Cost)
				if _, err := fmt.Sscanf(text, "%f/%f", &model.Cost.Input, &model.Cost.Output); err != nil {
					t.Fatalf("%s: %v", m, err)
				}
			}
			p.Models = append(p.Models, model)
		}
		c.Providers = append(c.Providers, p)
	}
	return c
}

// The published specification contains three examples with sentences. Choose must return exactly these
// sentences.
func TestTheThreeExamplesOfTheSpecification(t *testing.T) {
	t.Parallel()
	c := Catalog{
		Providers: []Provider{
			{ID: "anthropic", Name: "Anthropic", Models: []Model{{ID: "claude-sonnet-4"}}},
			{ID: "opencode", Name: "OpenCode Zen", Models: []Model{{ID: "claude-sonnet-4"}, {ID: "claude-opus-4"}}},
			{ID: "google", Name: "Google", Models: []Model{{ID: "gemini-2.5-pro"}}},
		},
		Connected: []string{"opencode", "google"},
	}
	for request, want := range map[string]string{
		"opencode/invalid": `opencode/claude-sonnet-4 Model "invalid" not available in OpenCode Zen, ` +
			`using cheapest alternative`,
		"anthropic/claude-sonnet-4": `opencode/claude-sonnet-4 Provider "anthropic" not available, using OpenCode Zen`,
		"invalid/model":             `google/gemini-2.5-pro Neither provider "invalid" nor model "model" available`,
	} {
		for _, strategy := range []coleo.FallbackStrategy{"", coleo.FallbackAny} {
			got, err := Choose(c, ModelRequest{Model: request, Strategy: strategy})
			if text := got.ProviderID + "/" + got.ModelID + " " + got.Reason; err != nil || text != want || !got.Fallback {
				t.Errorf("%s with %q: %s, %v; want %s", request, strategy, text, err, want)
			}
		}
	}
}

func TestAStricterStrategyTakesTheNearestAllowedPrice(t *testing.T) {
	t.Parallel()
	c := pricedCatalog(t, "a*: big=10/30 mid=3/15 small=1/2 odd", "b*: mid=3/15 huge=20/40 free=0/0",
		"gone: mid=3/15 wide=3/2 odd")
	for name, q := range map[string]struct{ request, strategy, want string }{
		"it is there: no strategy matters": {"a/mid", "none", "a/mid"},
		"none: nothing, and the choices": {"gone/mid", "none",
			`the model "gone/mid" is not available, and the fallback strategy none takes no other one; ` +
				`nothing was done; there are a/mid, b/mid, b/free, a/small, a/big, b/huge, or one of 1 more`},
		"the same price, the same model":              {"gone/mid", "same-price", "a/mid"},
		"cheaper takes the same model first":          {"gone/mid", "cheaper", "a/mid"},
		"cheaper takes the dearest that is no dearer": {"gone/wide", "cheaper", "a/small"},
		"no two prices are the same": {"gone/wide", "same-price",
			`the model "gone/wide" is not available, and the fallback strategy same-price takes no other ` +
				`one than at a price that is the same ($3 in, $2 out); nothing was done`},
		"the price of the request is unknown": {"gone/odd", "cheaper",
			`the model "gone/odd" is not available, and the fallback strategy cheaper takes no other ` +
				`one, because the price of the requested model is unknown`},
		"nobody has heard of the request": {"zz/zz", "same-price", `the model "zz/zz" is not available, and`},
		"a published price counts too":    {"zz/gpt-4o", "cheaper", "a/small"},
		"nothing was wished for":          {"", "none", "b/free"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Choose(c, ModelRequest{Model: q.request, Strategy: coleo.FallbackStrategy(q.strategy)})
			text := got.ProviderID + "/" + got.ModelID
			if err != nil {
				text = err.Error()
			}
			if !strings.HasPrefix(text, q.want) || strings.Contains(text, "\n") {
				t.Errorf("%s with %s = %s\nwant %s", q.request, q.strategy, text, q.want)
			}
			if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
				t.Errorf("the code is %s", coleo.ErrorCode(err))
			}
		})
	}
}

func TestAChangeHasBothModelsAndBothPrices(t *testing.T) {
	t.Parallel()
	got, err := Choose(pricedCatalog(t, "a*: big=10/30", "gone: mid=3/15"), ModelRequest{Model: "gone/mid"})
	if err != nil || got.Asked.String() != "gone/mid ($3 in, $15 out)" || got.Used.String() != "a/big ($10 in, $30 out)" {
		t.Errorf("asked %v, used %v, %v", got.Asked, got.Used, err)
	}
	got, err = Choose(pricedCatalog(t, "a*: odd"), ModelRequest{Model: "x/y"})
	if err != nil || got.Asked.String() != "x/y (price unknown)" || got.Used.String() != "a/odd (price unknown)" {
		t.Errorf("asked %v, used %v, %v", got.Asked, got.Used, err)
	}
}

// randomCatalog returns a catalogue with at most four providers and at most four models each.
func randomCatalog(r *rand.Rand, ids []string) Catalog {
	var c Catalog
	for _, id := range ids {
		if r.IntN(4) == 0 {
			continue
		}
		p := Provider{ID: id}
		for _, m := range ids[:r.IntN(len(ids)+1)] {
			p.Models = append(p.Models, Model{ID: m, Cost: []*Cost{nil, {float64(r.IntN(3)), float64(r.IntN(2))}}[r.IntN(2)]})
		}
		c.Providers = append(c.Providers, p)
		if r.IntN(2) == 0 {
			c.Connected = append(c.Connected, id)
		}
	}
	return c
}

// shuffled returns the catalogue in another order.
func shuffled(r *rand.Rand, c Catalog) Catalog {
	out := Catalog{Connected: append([]string{}, c.Connected...)}
	for _, p := range c.Providers {
		p.Models = append([]Model{}, p.Models...)
		r.Shuffle(len(p.Models), func(i, j int) { p.Models[i], p.Models[j] = p.Models[j], p.Models[i] })
		out.Providers = append(out.Providers, p)
	}
	r.Shuffle(len(out.Providers), func(i, j int) {
		out.Providers[i], out.Providers[j] = out.Providers[j], out.Providers[i]
	})
	r.Shuffle(len(out.Connected), func(i, j int) {
		out.Connected[i], out.Connected[j] = out.Connected[j], out.Connected[i]
	})
	return out
}

// TestWhatIsChosenCanBeHadAndIsNoDearerThanAllowed chooses models from random catalogues. It checks four rules:
//   - The chosen model is available.
//   - It costs no more than the strategy allows.
//   - Its price is known, if the catalogue has an available model with a known price.
//   - The order of the catalogue does not matter.
func TestWhatIsChosenCanBeHadAndIsNoDearerThanAllowed(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	ids := []string{"a", "b", "c", "d"}
	strategies := []coleo.FallbackStrategy{"", coleo.FallbackAny, coleo.FallbackSamePrice, coleo.FallbackCheaper,
		coleo.FallbackNone}
	seen := map[string]int{}
	for range 50000 {
		c := randomCatalog(r, ids)
		w := ModelRequest{Provider: ids[r.IntN(4)], Model: ids[r.IntN(4)], Strategy: strategies[r.IntN(len(strategies))]}
		got, err := Choose(c, w)
		again, errAgain := Choose(shuffled(r, c), w)
		if fmt.Sprint(got, err) != fmt.Sprint(again, errAgain) {
			t.Fatalf("%+v in %+v depends on the order:\n%v %v\n%v %v", w, c, got, err, again, errAgain)
		}
		if fault := faultOf(c, w, got, err); fault != "" {
			t.Fatalf("%s: %+v in %+v = %+v, %v", fault, w, c, got, err)
		}
		seen[fmt.Sprintf("%s %v %v", w.Strategy, got.Fallback, err != nil)]++
	}
	for _, want := range []string{"any true false", "same-price true false", "cheaper true false", "none false true",
		"same-price false true", "cheaper false true"} {
		if seen[want] < 100 {
			t.Errorf("the case %q came %d times: %v", want, seen[want], seen)
		}
	}
}

// faultOf returns what is wrong with a choice, or "".
func faultOf(c Catalog, w ModelRequest, got Choice, err error) string {
	offers := AvailableByCost(c)
	lax := w.Strategy == "" || w.Strategy == coleo.FallbackAny
	kept := got.ProviderID == w.Provider && got.ModelID == w.Model
	asked, used := got.Asked.Price, got.Used.Price
	switch {
	case err != nil && (lax || len(offers) == 0 || isAvailable(c, w.Provider, w.Model)):
		return "refused without a reason"
	case err != nil:
		return ""
	case len(offers) > 0 && !isAvailable(c, got.ProviderID, got.ModelID), len(offers) == 0 && !kept:
		return "it cannot be had"
	case got.Fallback == kept, isAvailable(c, w.Provider, w.Model) && !kept:
		return "the fallback is told wrong"
	case !got.Fallback:
		return ""
	case w.Strategy == coleo.FallbackNone:
		return "another model in spite of none"
	case lax && used == nil && knownBeside(offers, w):
		return "an unknown price was taken for cheap"
	case !lax && (asked == nil || used == nil):
		return "an unknown price was compared"
	case w.Strategy == coleo.FallbackSamePrice && (asked.Input != used.Input || asked.Output != used.Output),
		w.Strategy == coleo.FallbackCheaper && (asked.Input < used.Input || asked.Output < used.Output):
		return "it is dearer than allowed"
	}
	return ""
}

// knownBeside reports whether Resolve could have chosen a model with a known price. It looks only at the models
// among which Resolve chooses for this request, for example those of the requested provider.
func knownBeside(offers []Offer, w ModelRequest) bool {
	known := func(is func(Offer) bool) (any, priced bool) {
		for _, o := range offers {
			any, priced = any || is(o), priced || is(o) && o.Source != coleo.PriceUnknown
		}
		return any, priced
	}
	if some, priced := known(func(o Offer) bool { return o.ProviderID == w.Provider }); some {
		return priced
	}
	if some, priced := known(func(o Offer) bool { return o.ModelID == w.Model }); some {
		return priced
	}
	_, priced := known(func(Offer) bool { return true })
	return priced
}
