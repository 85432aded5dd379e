package store

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

func TestReplayGivesTheRowsThatWereSeenLive(t *testing.T) {
	t.Parallel()
	for seed := range fewer(8) { // with -short, 4 seeds
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			events := randomEvents(r, 600)
			live := serve(t)
			feed(t, r, live, events)
			stored, _, err := live.RunEvents(t.Context(), EventFilter{})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "log", stored, events)
			replayed := serve(t)
			project(t, replayed, stored...)
			want, err := live.Arms(t.Context(), true)
			if err != nil || len(want) == 0 {
				t.Fatalf("arms = %d, %v", len(want), err)
			}
			got, err := replayed.Arms(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "replayed", got, want)
			equal(t, "folded", fold(events), want)
		})
	}
}

// feed calls Project with the events, divided into random pieces. It projects some pieces twice.
func feed(t *testing.T, r *rand.Rand, s *ServeDB, events []coleo.Event) {
	t.Helper()
	for at := 0; at < len(events); {
		end := min(at+1+r.IntN(9), len(events))
		from := max(0, at-r.IntN(5))
		project(t, s, slices.Clone(events[from:end])...)
		at = end
	}
}

// fold applies events to rows in memory, without a database.
func fold(events []coleo.Event) []coleo.Arm {
	arms := map[string]coleo.Arm{}
	for _, e := range events {
		arms[e.Arm] = Apply(arms[e.Arm], e)
	}
	var out []coleo.Arm
	for _, a := range arms {
		if a.ID != "" {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b coleo.Arm) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// randomEvents returns the logs of three hosts, mixed in a random order of arrival. The hosts take
// arms from each other.
func randomEvents(r *rand.Rand, n int) []coleo.Event {
	seq := map[string]uint64{}
	out := make([]coleo.Event, n)
	for i := range out {
		e := randomEvent(r)
		e.Time = start.Add(time.Duration(r.IntN(1000)) * time.Second)
		e.Host, e.Epoch = fmt.Sprint("h", r.IntN(3)), "e1"
		seq[e.Host]++
		e.Seq = seq[e.Host]
		out[i] = e
	}
	return out
}

func randomEvent(r *rand.Rand) coleo.Event {
	arm := fmt.Sprint("arm-", r.IntN(5))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	switch r.IntN(12) {
	case 0:
		return spawn(arm, r.IntN(6))
	case 1:
		return reattached(spawn(arm, r.IntN(6)))
	case 2:
		return event(coleo.EventStopped, arm, coleo.Reading{Rule: pick("", "exit")})
	case 3:
		if r.IntN(4) == 0 {
			return event(coleo.EventRemoved, arm, nil)
		}
		return event(coleo.EventOrphaned, arm, coleo.Note{Text: "one"})
	case 4:
		return event(coleo.EventConversation, arm, coleo.Note{Text: pick("", "c1", "c2")})
	case 5:
		e := event(coleo.EventState, arm, nil)
		e.Payload = json.RawMessage(pick(`7`, `{"reading":{}}`, `{ "reading" : {"state":"idle"} }`))
		return e
	case 6:
		return event(coleo.EventKind(pick("run_start", "run_end", "approval", "prompt_lost", "witness", "newer")), arm,
			nil)
	case 7:
		if r.IntN(3) == 0 {
			return budgetEvent(arm, coleo.BudgetStep(pick("set", "counted")), float64(r.IntN(2)), coleo.BudgetOfArm)
		}
		if r.IntN(2) == 0 {
			return event(coleo.EventLabels, arm, coleo.Labelled{Labels: coleo.Labels{"team": pick("a", "b")}})
		}
		return event(coleo.EventWitness, arm, nil)
	case 8:
		return event(coleo.EventWindow, arm, coleo.Change{Window: &coleo.Window{State: coleo.WindowState(pick("open",
			"closed"))}})
	}
	states := coleo.States()
	c := coleo.Change{Reading: coleo.Reading{State: states[r.IntN(len(states))], Rule: pick("a", "b")}}
	if c.Reading.State == coleo.WaitingApproval {
		c.Reading.Dialog = &coleo.Dialog{Kind: coleo.DialogPermission, Title: pick("x", "y"), Options: []string{"Yes"},
			Default: -1}
	}
	return event(coleo.EventState, arm, c)
}
