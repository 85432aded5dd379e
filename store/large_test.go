package store

import (
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
)

func TestAPageOfLargeEventsIsShortAndTheNextOneGoesOn(t *testing.T) {
	t.Parallel()
	s, err := OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const all = 7
	for i := range uint64(all) {
		large := coleo.Event{Host: "h", Epoch: "e", Seq: i + 1, Arm: "a", Kind: coleo.EventWitness,
			Payload: []byte(`"` + strings.Repeat("x", 900_000) + `"`)}
		if err := s.Project(t.Context(), []coleo.Event{large}); err != nil {
			t.Fatal(err)
		}
	}
	var seen []uint64
	for after := uint64(0); ; {
		page, next, err := s.RunEvents(t.Context(), EventFilter{Arm: "a", After: after})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		if len(page) > 2 {
			t.Errorf("a page has %d events of 900 kB, want at most 2", len(page))
		}
		for _, e := range page {
			seen = append(seen, e.Seq)
		}
		after = next
	}
	if len(seen) != all || seen[all-1] != all {
		t.Errorf("the pages have events %v, want 1 to %d", seen, all)
	}
}
