package modelresolver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// catalog builds a catalogue from lines of the form "provider: model model=in/out …". A
// provider with a star is connected.
func catalog(lines ...string) Catalog {
	var c Catalog
	for _, l := range lines {
		id, models, _ := strings.Cut(l, ":")
		if name, ok := strings.CutSuffix(id, "*"); ok {
			id = name
			c.Connected = append(c.Connected, id)
		}
		p := Provider{ID: id, Name: strings.ToUpper(id)}
		for _, m := range strings.Fields(models) {
			name, cost, priced := strings.Cut(m, "=")
			model := Model{ID: name, Name: strings.ToUpper(name)}
			if priced {
				model.Cost = new(Cost)
				if err := json.Unmarshal([]byte(cost), &model.Cost.Input); err != nil {
					panic(err)
				}
			}
			p.Models = append(p.Models, model)
		}
		c.Providers = append(c.Providers, p)
	}
	return c
}

func TestResolve(t *testing.T) {
	t.Parallel()
	usual := catalog("anthropic*: claude-sonnet-4 claude-opus-4", "google*: gemini-2.5-pro gemini-2.5-flash",
		"openai: gpt-4o")
	for name, c := range map[string]struct {
		catalog Catalog
		request string
		want    string // provider/model, then the reason
	}{
		"exactly as wished": {usual, "anthropic/claude-opus-4",
			"anthropic/claude-opus-4"},
		"model unknown: the provider's cheapest": {usual, "anthropic/claude-9",
			`anthropic/claude-sonnet-4 Model "claude-9" not available in ANTHROPIC, using cheapest alternative`},
		"listed and not connected: the model elsewhere": {catalog("anthropic: claude-sonnet-4",
			"opencode*: claude-sonnet-4 x=0"), "anthropic/claude-sonnet-4",
			`opencode/claude-sonnet-4 Provider "anthropic" not available, using OPENCODE`},
		"provider unknown: the model where it is cheapest": {catalog("a: m=3", "b: m=2", "c: m=2"), "zz/m",
			`b/m Provider "zz" not available, using B`},
		"nothing of it known: the cheapest of all": {catalog("anthropic: claude-sonnet-4",
			"google: gemini-2.5-pro"), "zz/m", `google/gemini-2.5-pro Neither provider "zz" nor model "m" available`},
		"the cheapest of all must be connected": {catalog("a*: m=9", "b: n=1"), "zz/m2",
			`a/m Neither provider "zz" nor model "m2" available`},
		"who is connected is unknown: listed is enough": {catalog("a: m=1"), "a/m", "a/m"},
		"a connected provider without models counts as none": {catalog("a*:", "b*: m=1"), "a/m",
			`b/m Provider "a" not available, using B`},
		"an empty catalogue: the request as it is":                  {Catalog{}, "p/m", "p/m"},
		"an empty catalogue with connections: the request as it is": {Catalog{Connected: []string{"p"}}, "p/m", "p/m"},
		"nothing is connected that is listed: the request as it is": {Catalog{Providers: usual.Providers,
			Connected: []string{"zz"}}, "openai/gpt-4o", "openai/gpt-4o"},
		"model ids may have slashes": {catalog("router: a/b/c=1 z=0"), "router/a/b/c",
			"router/a/b/c"},
		"a catalogue's price goes before the book": {catalog("p: claude-sonnet-4=0.1 gemini-2.5-flash=7"),
			"p/x", `p/claude-sonnet-4 Model "x" not available in P, using cheapest alternative`},
		"an unknown price is dearer than a known small one": {catalog("p: mystery gpt-4o"), "p/x",
			`p/gpt-4o Model "x" not available in P, using cheapest alternative`},
		"an unknown price is dearer than the dearest known one": {catalog("p: claude-opus-4 mystery"), "p/x",
			`p/claude-opus-4 Model "x" not available in P, using cheapest alternative`},
		"an unknown price is better than no model": {catalog("p: mystery"), "p/x",
			`p/mystery Model "x" not available in P, using cheapest alternative`},
		"free is a price": {catalog("p: free=0 gemini-2.5-flash"), "p/x",
			`p/free Model "x" not available in P, using cheapest alternative`},
		"no model was wished for: cheapest, and no fallback": {usual, "google/", "google/gemini-2.5-flash"},
		"no provider was wished for: no fallback":            {usual, "claude-opus-4", "anthropic/claude-opus-4"},
		"nothing was wished for: the cheapest":               {usual, "", "google/gemini-2.5-flash"},
		"only an unknown model was wished for": {usual, "zz",
			`google/gemini-2.5-flash Neither provider "" nor model "zz" available`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider, model := Split(c.request)
			r := Resolve(c.catalog, provider, model)
			got := strings.TrimSpace(r.ProviderID + "/" + r.ModelID + " " + r.Reason)
			if got != c.want || r.Fallback != (r.Reason != "") {
				t.Errorf("resolve %q = %q (fallback %v), want %q", c.request, got, r.Fallback, c.want)
			}
			if r.ProviderName == "" || r.ModelName == "" {
				t.Errorf("resolve %q has no names: %+v", c.request, r)
			}
			if combined := Resolve(c.catalog, "", c.request); combined != r {
				t.Errorf("combined = %+v, apart = %+v", combined, r)
			}
		})
	}
}

func TestNamesAndTheFormForPrograms(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Resolve(catalog("p: m=1"), "p", "m"))
	want := `{"provider":"p","model":"m","provider_name":"P","model_name":"M","fallback":false,"reason":""}`
	if err != nil || string(b) != want {
		t.Errorf("JSON = %s, %v; want %s", b, err, want)
	}
	if r := Resolve(Catalog{Providers: []Provider{{ID: "p", Models: []Model{{ID: "m"}}}}}, "p",
		"m"); r.ProviderName != "p" || r.ModelName != "m" {
		t.Errorf("without names: %+v, want the ids", r)
	}
}

func TestOffersAreInOrderOfCostThenProviderThenModel(t *testing.T) {
	t.Parallel()
	c := catalog("z*: b=1 a=1", "y*: gpt-4o c=1", "x: d=0", "w*: mystery")
	var got []string
	for _, o := range AvailableByCost(c) {
		got = append(got, o.ProviderID+"/"+o.ModelID+" "+string(o.Source))
	}
	want := []string{"y/c catalog", "z/a catalog", "z/b catalog", "y/gpt-4o book", "w/mystery unknown"}
	if !slices.Equal(got, want) {
		t.Errorf("offers = %q, want %q", got, want)
	}
	if c.Providers[0].Models[0].ID != "b" {
		t.Error("the catalogue itself was put in order")
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	c := catalog("a*: m", "b: m")
	for request, want := range map[string]bool{"a/m": true, "a/n": false, "b/m": false, "c/m": false} {
		p, m := Split(request)
		if got := isAvailable(c, p, m); got != want {
			t.Errorf("available %s = %v, want %v", request, got, want)
		}
	}
}

func TestTheBookHasThePublishedPrices(t *testing.T) {
	t.Parallel()
	var got []string
	for _, o := range AvailableByCost(
		catalog("p: claude-opus-4 claude-sonnet-4 gpt-4o gemini-2.5-pro gpt-4o-mini gemini-2.5-flash other")) {
		b, _ := json.Marshal([]float64{o.Cost.Input, o.Cost.Output})
		got = append(got, o.ModelID+string(b))
	}
	want := "gemini-2.5-flash[0.075,0.3] gpt-4o-mini[0.15,0.6] gemini-2.5-pro[1.25,5] gpt-4o[2.5,10] " +
		"claude-sonnet-4[3,15] claude-opus-4[15,75] other[5,20]"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("prices = %s, want %s", s, want)
	}
}

// isAvailable reports whether a provider is connected and lists a model.
func isAvailable(c Catalog, provider, model string) bool {
	_, ok := first(AvailableByCost(c), func(o Offer) bool { return o.ProviderID == provider && o.ModelID == model })
	return ok
}
