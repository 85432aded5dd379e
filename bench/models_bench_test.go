package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/modelresolver"
)

const (
	// catalogueModels is how many models the largest plausible catalogue has.
	catalogueModels = 10_000
	// resolveBar limits the time to resolve a request, which includes the parsing of the catalogue. The time may
	// be this many times as long as the parsing alone.
	resolveBar = 3
	// resolveRuns is the number of runs from which the median is taken.
	resolveRuns = 9
)

// BenchmarkResolve compares the time until a model of a large catalogue is chosen with the time of
// parsing that catalogue. The requested model does not exist, so the resolver tries every step.
func BenchmarkResolve(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"all":[`)
	for i := range catalogueModels {
		switch {
		case i == 0:
			text.WriteString(`{"id":"p0","name":"P0","models":{`)
		case i%100 == 0:
			fmt.Fprintf(&text, `}},{"id":"p%d","name":"P%d","models":{`, i/100, i/100)
		default:
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `"m%d":{"id":"m%d","name":"Model %d","cost":{"input":%d,"output":%d}}`, i, i, i, i%37+1, i%91+1)
	}
	text.WriteString(`}}],"connected":[]}`)
	document := []byte(text.String())
	request := modelresolver.ModelRequest{Provider: "nobody", Model: "m-none", Strategy: coleo.FallbackCheaper,
		Cost: &modelresolver.Cost{Input: 20, Output: 20}}
	for b.Loop() {
		var times []float64
		for range resolveRuns {
			began := time.Now()
			c, err := modelresolver.ParseCatalog(document)
			ok(b, err)
			parsed := time.Since(began)
			_, err = modelresolver.Choose(c, request)
			ok(b, err)
			times = append(times, float64(time.Since(began))/float64(parsed))
		}
		bar(b, "resolve-per-parse", times, resolveBar)
		b.ReportMetric(slices.Max(times), "worst-resolve-per-parse")
	}
}
