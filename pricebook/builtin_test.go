package pricebook

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

var (
	fromDocument = flag.String("document", "", "make models.dev.tsv anew from this document of models.dev")
	documentDate = flag.String("date", "", "the date of that document, as 2026-01-31")
	documentFrom = flag.String("from", "", "where that document was found")
)

// keptProviders are the providers in the table: the vendors, and the providers that supported agent
// CLIs use.
var keptProviders = append([]string{"amazon-bedrock", "azure", "cerebras", "fireworks-ai", "github-copilot",
	"google-vertex", "google-vertex-anthropic", "groq", "kilo", "opencode", "opencode-go", "openrouter", "togetherai",
	"vercel", "zhipuai"}, vendors...)

const tableHead = `# The prices of models in US dollars per million tokens, from the document of
# https://models.dev (MIT licence, https://github.com/sst/models.dev). builtin.go says what
# the columns mean. go test ./pricebook -run TheTable -document FILE -date DATE -from WHERE
# makes this file anew.
# from: %s
` + datePrefix + "%s\n"

func TestTheTableIsTheOneOfTheDocument(t *testing.T) {
	if *fromDocument != "" {
		data, err := os.ReadFile(*fromDocument)
		if err != nil {
			t.Fatal(err)
		}
		prices, err := ParseDocument(data)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(prices, func(name string, _ coleo.Price) bool {
			provider, _ := coleo.SplitModel(name)
			return !slices.Contains(keptProviders, provider)
		})
		text := formatTable(fmt.Sprintf(tableHead, *documentFrom, *documentDate), prices)
		if err := os.WriteFile("models.dev.tsv", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	p := BuiltIn()
	_, head, _ := strings.Cut(table, "# from: ")
	from, _, _ := strings.Cut(head, "\n")
	if p.Date == "" || from == "" || len(p.ByName) < 1000 {
		t.Errorf("the table of %q from %q has %d models", p.Date, from, len(p.ByName))
	}
	if again := formatTable(fmt.Sprintf(tableHead, from, p.Date), p.ByName); again != table {
		t.Error("the table is not in the form in which it is made")
	}
}

func TestAPriceIsFoundAtItsVendor(t *testing.T) {
	t.Parallel()
	b := New(map[string]coleo.Price{
		"openai/gpt-4o": {Rates: coleo.Rates{Input: 1, Output: 2}, Source: coleo.PriceOverride},
		"mine":          {Rates: coleo.Rates{Input: 7, Output: 7}, Source: coleo.PriceOverride},
	}, nil, &Prices{Source: coleo.PriceRefreshed, Date: "2026-11-01",
		ByName: map[string]coleo.Price{"openai/gpt-5": {Rates: coleo.Rates{Input: 9, Output: 9}}}}, BuiltIn())
	for name, want := range map[string]string{
		"anthropic/claude-sonnet-4-5":      "3/15/0.3/3.75 built-in 2026-09-28",
		"claude-sonnet-4-5":                "3/15/0.3/3.75 built-in 2026-09-28",
		"claude-sonnet-4-5-20250929":       "3/15/0.3/3.75 built-in 2026-09-28",
		"claude-haiku-4-5-20991231":        "1/5/0.1/1.25 built-in 2026-09-28",
		"openai/gpt-4o":                    "1/2/0/0 override ",
		"openai/gpt-5":                     "9/9/0/0 refreshed 2026-11-01",
		"anything/mine":                    "7/7/0/0 override ",
		"opencode/claude-sonnet-4":         "3/15/0.3/3.75 built-in 2026-09-28",
		"claude-opus-4":                    "15/75/15/15 book ",
		"nobody/gpt-5":                     "unknown",
		"a-model-that-nobody-has-heard-of": "unknown",
	} {
		p, ok := b.Find(coleo.SplitModel(name))
		got := fmt.Sprintf("%g/%g/%g/%g %s %s", p.Input, p.Output, p.CacheRead, p.CacheWrite, p.Source, p.Date)
		if !ok {
			got = "unknown"
		}
		if got != want {
			t.Errorf("%s costs %s, want %s", name, got, want)
		}
	}
	if _, ok := new(Book).Find("google", "gemini-2.5-pro"); !ok {
		t.Error("the empty book does not know the published prices")
	}
}

func TestADocumentIsReadWithCachesAndTiers(t *testing.T) {
	t.Parallel()
	got, err := ParseDocument([]byte(`{"p":{"id":"p","models":{
		"plain":{"cost":{"input":1,"output":2}},
		"cached":{"cost":{"input":1,"output":2,"cache_read":0.1,"cache_write":1.25,"input_audio":3}},
		"large":{"cost":{"input":1,"output":2,"tiers":[
			{"input":4,"output":8,"tier":{"type":"context","size":272001}},
			{"input":2,"output":4,"cache_read":0.2,"tier":{"type":"context","size":200000}},
			{"input":9,"output":9,"tier":{"type":"daytime","size":1}}]}},
		"free":{"cost":{"input":0,"output":0}},
		"unpriced":{}}},"empty":{}}`))
	want := map[string]coleo.Price{
		"p/plain":  {Rates: coleo.Rates{Input: 1, Output: 2, CacheRead: 1, CacheWrite: 1}},
		"p/cached": {Rates: coleo.Rates{Input: 1, Output: 2, CacheRead: 0.1, CacheWrite: 1.25}},
		"p/large": {Rates: coleo.Rates{Input: 1, Output: 2, CacheRead: 1, CacheWrite: 1}, Tiers: []coleo.PriceTier{
			{Above: 200_000, Rates: coleo.Rates{Input: 2, Output: 4, CacheRead: 0.2, CacheWrite: 2}},
			{Above: 272_000, Rates: coleo.Rates{Input: 4, Output: 8, CacheRead: 4, CacheWrite: 4}}}},
		"p/free": {},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("prices = %+v, %v\nwant %+v", got, err, want)
	}
}

func TestABadDocumentIsOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                          "unexpected end",
		`[]`:                        "cannot unmarshal array",
		`{}`:                        "it has no model with a price",
		`{"p":{"models":{"m":{}}}}`: "it has no model with a price",
		`{"p":{"models":{"m":{"cost":{"input":1}}}}}`:                  `"p/m": the price lacks input or output`,
		`{"p":{"models":{"m":{"cost":{"input":-1,"output":1}}}}}`:      `"p/m": -1 cannot be a price`,
		`{"p":{"models":{"m":{"cost":{"input":1e9,"output":1}}}}}`:     `"p/m": 1e+09 cannot be a price`,
		`{"p":{"models":{"m":{"cost":{"input":NaN,"output":1}}}}}`:     "invalid character 'N'",
		`{"p":{"models":{"m":{"cost":{"input":"1","output":1}}}}}`:     "cannot unmarshal string",
		`{"p":{"models":{"\u001bm":{"cost":{"input":1,"output":1}}}}}`: "control characters",
		strings.Repeat(" ", MaxDocument+1):                             "and at most 67108864 are read",
	} {
		_, err := ParseDocument([]byte(text))
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), want) ||
			strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%.100s: %v, want %s", text, err, want)
		}
	}
}

func TestTheTierOfALargeCall(t *testing.T) {
	t.Parallel()
	p, _ := New(nil, BuiltIn()).Find("google", "gemini-2.5-pro")
	for tokens, want := range map[int]float64{100_000: 0.125 + 0.01, 199_999: 0.24999875 + 0.01, 300_000: 0.75 + 0.015} {
		got := p.Of(coleo.Usage{Input: tokens, Output: 1000}, coleo.ContextStep(tokens))
		if diff := got - want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%d tokens cost %v, want %v", tokens, got, want)
		}
	}
	u := coleo.Usage{Input: 1_000_000, Cached: 500_000, Written: 100_000, Output: 0}
	p = coleo.Price{Rates: coleo.Rates{Input: 10, CacheRead: 1, CacheWrite: 20}}
	if got := p.Of(u, 0); got != 4+0.5+2 {
		t.Errorf("with caches: %v", got)
	}
}
