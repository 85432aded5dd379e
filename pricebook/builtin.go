package pricebook

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"coleo.dev"
)

// table is the data of BuiltIn. Each line has one model: its name, then the rates of input,
// output, cache reads and cache writes. Further columns are tiers, as
// ABOVE:INPUT:OUTPUT:READ:WRITE. The first lines name the source of the prices.
//
//go:embed models.dev.tsv
var table string

// BuiltIn returns the prices that are built into Coleo. They come from the document of models.dev,
// and cover the providers that agent CLIs use most.
var BuiltIn = sync.OnceValue(func() *Prices {
	p, err := parseTable(table)
	if err != nil {
		panic("models.dev.tsv: " + err.Error()) // this never happens, because a test parses this table
	}
	return p
})

const datePrefix = "# date: "

func parseTable(text string) (*Prices, error) {
	p := &Prices{Source: coleo.PriceBuiltIn, ByName: map[string]coleo.Price{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if date, ok := strings.CutPrefix(line, datePrefix); ok {
			p.Date = date
		}
		if line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "\t")
		price := coleo.Price{}
		var err error
		if price.Rates, err = parseRates(columns[1:min(len(columns), 5)]); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		for _, column := range columns[5:] {
			above, rest, _ := strings.Cut(column, ":")
			t := coleo.PriceTier{}
			if t.Above, err = strconv.Atoi(above); err == nil {
				t.Rates, err = parseRates(strings.Split(rest, ":"))
			}
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			price.Tiers = append(price.Tiers, t)
		}
		p.ByName[columns[0]] = price
	}
	return p, nil
}

func parseRates(columns []string) (coleo.Rates, error) {
	var f [4]float64
	if len(columns) != len(f) {
		return coleo.Rates{}, fmt.Errorf("want %d rates, got %d", len(f), len(columns))
	}
	for i, text := range columns {
		var err error
		if f[i], err = strconv.ParseFloat(text, 64); err != nil {
			return coleo.Rates{}, err
		}
	}
	r := coleo.Rates{Input: f[0], Output: f[1], CacheRead: f[2], CacheWrite: f[3]}
	return r, CheckRates(r)
}

// formatTable returns the text of a table: the head, and then one line for each price.
func formatTable(head string, prices map[string]coleo.Price) string {
	var b strings.Builder
	b.WriteString(head)
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		p := prices[name]
		fmt.Fprintf(&b, "%s\t%s", name, formatRates(p.Rates, "\t"))
		for _, t := range p.Tiers {
			fmt.Fprintf(&b, "\t%d:%s", t.Above, formatRates(t.Rates, ":"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func formatRates(r coleo.Rates, between string) string {
	var words []string
	for _, f := range []float64{r.Input, r.Output, r.CacheRead, r.CacheWrite} {
		words = append(words, strconv.FormatFloat(f, 'g', 10, 64)) // more digits would show 0.30000000000000004
	}
	return strings.Join(words, between)
}
