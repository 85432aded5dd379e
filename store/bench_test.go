package store

import (
	"path/filepath"
	"testing"

	"coleo.dev"
)

// BenchmarkAppend measures how long it takes to append one event, a hundred events at once, or one
// intent, which waits for the disk.
func BenchmarkAppend(b *testing.B) {
	output, stop := event(coleo.EventWitness, "a", nil), event(coleo.EventStopped, "a", nil)
	hundred := make([]coleo.Event, 100)
	for i := range hundred {
		hundred[i] = output
	}
	for name, batch := range map[string][]coleo.Event{"one": {output}, "hundred": hundred, "intent": {stop}} {
		b.Run(name, func(b *testing.B) {
			h, err := OpenHost(filepath.Join(b.TempDir(), "host.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer h.Close()
			for b.Loop() {
				if _, err := h.Append(b.Context(), batch...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkProject measures how long serve needs to project a batch of a hundred events. To project events
// means to store them and to apply them to the rows.
func BenchmarkProject(b *testing.B) {
	s, err := OpenServe(filepath.Join(b.TempDir(), "serve.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	batch := make([]coleo.Event, 100)
	var at uint64
	for b.Loop() {
		for i := range batch {
			batch[i] = reading(coleo.Processing, nil)
		}
		if err := s.Project(b.Context(), numbered("h1", at, batch...)); err != nil {
			b.Fatal(err)
		}
		at += uint64(len(batch))
	}
	b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "events/s")
}
