package store

import (
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
)

// TestTheNewestEventsOfAnArm compares Newest with the whole log.
func TestTheNewestEventsOfAnArm(t *testing.T) {
	t.Parallel()
	s, err := OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var log []coleo.Event
	for i := range 60 { // every third event is Coleo's own
		e := coleo.Event{Host: "h", Epoch: "e", Seq: uint64(i + 1), Arm: []string{"a", "b"}[i%2], Kind: coleo.EventWitness,
			Time: time.Now().UTC()}
		if i%3 > 0 {
			e.Kind, e.Source = []coleo.EventKind{coleo.EventTurn, coleo.EventUsage}[i%3-1], coleo.SourceHook
		}
		log = append(log, e)
	}
	if err := s.Project(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	all, err := s.Entries(t.Context(), EventFilter{Arm: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []coleo.EventKind{"", coleo.EventTurn, coleo.EventWitness, coleo.EventRunEnd} {
		for _, before := range []uint64{0, all[7].Position, all[0].Position} {
			var want []Entry
			for _, e := range all {
				if (kind == "" || e.Kind == kind) && (before == 0 || e.Position < before) {
					want = append(want, e)
				}
			}
			want = want[max(0, len(want)-4):]
			got, err := s.Newest(t.Context(), "a", kind, before, 4)
			if err != nil || len(got) != len(want) {
				t.Errorf("kind %q before %d: %d events, want %d; %v", kind, before, len(got), len(want), err)
				continue
			}
			for i := range want {
				if got[i].Position != want[i].Position || got[i].Seq != want[i].Seq || got[i].Source != want[i].Source {
					t.Errorf("kind %q before %d: event %d is %+v, want %+v", kind, before, i, got[i], want[i])
				}
			}
		}
	}
}
