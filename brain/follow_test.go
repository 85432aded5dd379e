package brain

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// TestAnEventThatWasMissedIsReadLater has an older host agent, whose Head counts an event that is
// missing in its answer. Serve must still read this event and the later events.
func TestAnEventThatWasMissedIsReadLater(t *testing.T) {
	t.Parallel()
	for what, early := range map[string]bus.Events{
		"and its log goes on":        {Epoch: "e", Head: 2, Checked: true},
		"and it was opened just now": {Epoch: "f", Head: 2, Checked: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			var asked atomic.Int64
			s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
				var o bus.EventsOrder
				err := json.Unmarshal(data, &o)
				list := logOf("e", early.Epoch, early.Epoch)
				switch asked.Add(1) {
				case 1:
					list = list[:1]
				case 2:
					return early, err
				}
				list = list[min(o.After, uint64(len(list))):]
				return bus.Events{Epoch: early.Epoch, Head: 3, Checked: true, List: list}, err
			})
			s.until("all events are there", func() bool {
				s.beat()
				return s.db.Head() == 3
			})
		})
	}
}

// logOf returns the log of a host, with events of the given epochs.
func logOf(epochs ...string) (list []coleo.Event) {
	for i, epoch := range epochs {
		list = append(list, coleo.Event{Host: scriptedHost, Epoch: epoch, Seq: uint64(i + 1), Kind: coleo.EventWitness,
			Time: time.Now()})
	}
	return list
}
