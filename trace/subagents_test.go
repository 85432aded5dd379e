package trace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"coleo.dev"
)

// reply returns the n-th reply in a record, at the given second.
func reply(n int, second int64, subagent bool) coleo.Activity {
	return coleo.Activity{Work: coleo.ReplyUsage{Subagent: subagent}, Source: coleo.SourceTranscript,
		Position: int64(n), Time: time.Unix(second, 0)}
}

// An arm has many subagents, and a host agent restarts at random times and reads all records from their
// beginning. Each reply must still yield one event.
func TestEachReplyOfManySubagentsIsToldOnce(t *testing.T) {
	t.Parallel()
	const subagents, replies = 3 * mostSubagents, 4
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 0))
		var s State
		told := 0
		take := func(record string, list ...coleo.Activity) {
			next, events, _ := s.Take(record, list, open)
			s, told = next, told+len(events)
		}
		main := []coleo.Activity{}
		below := map[string][]coleo.Activity{}
		for n := range subagents {
			second := int64(10 * n)
			main = append(main, reply(n, second, false))
			name := fmt.Sprint("subagent ", n)
			take("main", main[n:]...)
			for i := range replies {
				below[name] = append(below[name], reply(i, second+int64(i), true))
				take(name, below[name][i:]...)
			}
			if draw.IntN(10) > 0 {
				continue
			}
			s = stored(t, s) // a new host agent reads everything again
			take("main", main...)
			for name, list := range below {
				take(name, list...)
			}
		}
		if want := subagents * (1 + replies); told != want {
			t.Fatalf("seed %d: %d replies are told, want %d", seed, told, want)
		}
		if len(s.Subagents) > mostSubagents || len(s.Places) != 1 {
			t.Fatalf("%d and %d places are kept", len(s.Subagents), len(s.Places))
		}
	}
}

// Some agent CLIs report the tokens of subagents in the record of the conversation. The State must keep the
// place of this record in `Places` and not in `Subagents`.
func TestTheRecordOfTheConversationMayTellOfSubagents(t *testing.T) {
	t.Parallel()
	list := []coleo.Activity{reply(1, 1, false), reply(2, 2, true), reply(3, 3, false)}
	s, events, _ := State{}.Take("main", list, open)
	if len(events) < 3 || len(s.Subagents) != 0 {
		t.Fatalf("%d events, and the places %+v", len(events), s.Subagents)
	}
	if _, again, _ := stored(t, s).Take("main", list, open); len(again) != 0 {
		t.Errorf("%d events are told again", len(again))
	}
}
