package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
)

// kept is the payload of the events in these tests.
type kept struct {
	Text string   `json:"text"`
	List []string `json:"list,omitempty"`
}

// readLog reads the host's log to its end, piece by piece, as serve does.
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

// readings is the log at the newest call of wholeLog, with the state of the database at that time.
type readings struct {
	mu            sync.Mutex
	db            *store.HostDB
	epoch         string
	head, deleted uint64
	all           []coleo.Event
}

// wholeLog returns the host's log. While a test waits for an event, it calls wholeLog often. So wholeLog reads the
// log only if the log has changed since the last call, or if another host agent runs.
func (s *stage) wholeLog() []coleo.Event {
	s.t.Helper()
	r := &s.readings
	r.mu.Lock()
	defer r.mu.Unlock()
	epoch, head, deleted := s.db.Epoch(), s.db.Head(), s.db.Deleted()
	if r.db != s.db || r.epoch != epoch || r.head != head || r.deleted != deleted {
		r.all, _ = s.readLog()
		r.db, r.epoch, r.head, r.deleted = s.db, epoch, head, deleted
	}
	return r.all
}

func TestABacklogOfLargeEventsIsReadPieceByPiece(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const events = 40 // events of 200 kB: too many for one message of the bus, although one message may contain 500 events
	for i := range events {
		s.check(s.host.append(t.Context(),
			armrecord.Event("a", coleo.EventWitness, kept{Text: fmt.Sprint(i, strings.Repeat("<", 200_000/6))})))
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
	for _, large := range []kept{ // as JSON, each is larger than a message of the bus, which has at most 4 MiB
		{Text: strings.Repeat("<ä", 5<<17)},
		{Text: "short", List: strings.Split(strings.Repeat("ab,", 1<<20), ",")},
	} {
		s.check(s.host.append(t.Context(), armrecord.Event("a", coleo.EventWitness, large)))
	}
	s.check(s.host.append(t.Context(), armrecord.Event("a", coleo.EventWitness, kept{Text: "after"})))
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

func TestOldEventsAreDeletedOnceServeHasReadThem(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	for range 50 {
		s.check(s.host.append(t.Context(), armrecord.Event(id, coleo.EventWitness, kept{})))
	}
	bound := store.Bound{Most: 10, Age: time.Hour}
	thin := func() int {
		_, err := s.host.thinLog(t.Context(), "", time.Now(), bound)
		s.check(err)
		all, err := s.db.Events(t.Context(), 0, 0)
		s.check(err)
		return len(all)
	}
	all, _ := s.readLog() // a read from the beginning does not prove that serve has stored anything
	s.host.read.Store(0)
	if left := thin(); left != len(all) {
		t.Fatalf("%d of %d events are left, want all that serve has not read", left, len(all))
	}
	last := all[len(all)-1]
	must[bus.Events](s, bus.OpEvents, bus.EventsOrder{After: last.Seq, Epoch: last.Epoch})
	if left := thin(); left > 20 {
		t.Errorf("%d events are left of %d, want the newest 10 and the few that stay", left, len(all))
	}
	again, _ := s.readLog()
	if again[len(again)-1].Seq != last.Seq {
		t.Errorf("the log ends with event %d, want %d", again[len(again)-1].Seq, last.Seq)
	}
}

// Serve reads the log in pieces while events are written. An empty piece tells serve that it has read the whole
// log up to the head, a number in the piece. So the head of an empty piece must not count an event that serve
// has not received.
func TestNoEventIsBetweenAPieceAndItsHead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const events = 2000
	written := make(chan error, 1)
	go func() {
		var err error
		for range events {
			err = errors.Join(err, s.host.append(context.Background(), armrecord.Event("a", coleo.EventWitness, kept{})))
		}
		written <- err
	}()
	for at := uint64(0); at < events; {
		answer, err := s.host.events(t.Context(), bus.EventsOrder{After: at})
		s.check(err)
		piece := answer.(bus.Events)
		if len(piece.List) == 0 && piece.Head > at {
			t.Errorf("behind event %d there is nothing, says an answer whose head is %d", at, piece.Head)
			at = piece.Head
			continue
		}
		if len(piece.List) > 0 {
			at = piece.List[len(piece.List)-1].Seq
		}
	}
	s.check(<-written)
}
