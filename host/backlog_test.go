package host

import (
	"fmt"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// kept is the payload of a test's event.
type kept struct {
	Text string   `json:"text"`
	List []string `json:"list,omitempty"`
}

// readLog reads the host's log to its end as serve does, piece by piece.
func (s *stage) readLog() (all []coleo.Event, pieces int) {
	s.t.Helper()
	for from := (bus.EventsOrder{}); ; pieces++ {
		piece := must[bus.Events](s, bus.OpEvents, from)
		all = append(all, piece.List...)
		if len(piece.List) == 0 || piece.List[len(piece.List)-1].Seq == piece.Head {
			return all, pieces
		}
		last := piece.List[len(piece.List)-1]
		from.After, from.Epoch = last.Seq, last.Epoch
	}
}

func TestABacklogOfLargeEventsIsReadPieceByPiece(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const events = 40 // of 200 kB: two messages of the bus, in far fewer than 500 events
	for i := range events {
		s.check(s.host.append(t.Context(), event("a", coleo.EventWitness, kept{Text: fmt.Sprint(i, strings.Repeat("<", 200_000/6))})))
	}
	all, pieces := s.readLog()
	if len(all) != events || pieces < 2 {
		t.Fatalf("%d events came in %d pieces, want %d in several", len(all), pieces, events)
	}
	for i, e := range all {
		if !strings.Contains(string(e.Payload), fmt.Sprintf(`{"text":"%d`, i)) || len(e.Payload) < 200_000 {
			t.Fatalf("event %d is %.40q, want the whole of what was written", i, e.Payload)
		}
	}
}

func TestAnEventThatIsTooLargeForTheBusIsCutAndTheNextOneFollows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, large := range []kept{
		{Text: strings.Repeat("<ä", 1<<20)},
		{Text: "short", List: strings.Split(strings.Repeat("ab,", 3<<20), ",")},
	} {
		s.check(s.host.append(t.Context(), event("a", coleo.EventWitness, large)))
	}
	s.check(s.host.append(t.Context(), event("a", coleo.EventWitness, kept{Text: "after"})))
	all, _ := s.readLog()
	if len(all) != 3 || !strings.Contains(string(all[2].Payload), "after") {
		t.Fatalf("%d events came, want 3, the last one whole", len(all))
	}
	if !strings.Contains(string(all[0].Payload), "bytes left out") {
		t.Errorf("the end of the cut text is %q, want that it says so", all[0].Payload[len(all[0].Payload)-60:])
	}
	if !strings.Contains(string(all[1].Payload), `"short"`) {
		t.Error("the short text beside a long list was cut")
	}
}
