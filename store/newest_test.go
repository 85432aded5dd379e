package store

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// TestTheNewestEventsOfAnArm compares the results of Newest with the whole log.
func TestTheNewestEventsOfAnArm(t *testing.T) {
	t.Parallel()
	s, err := OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var log []coleo.Event
	for i := range 60 { // every third event has no source, so it is Coleo's own
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

// TestTheNewestEventOfAPrompt checks that only starts of runs and changes of the queue count as
// events about a prompt.
func TestTheNewestEventOfAPrompt(t *testing.T) {
	t.Parallel()
	h, err := OpenHost(filepath.Join(t.TempDir(), "host.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	add := func(e coleo.Event) {
		t.Helper()
		if e.Arm == "" {
			e.Arm = "a"
		}
		if _, err := h.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	want := func(id string, found bool, kind coleo.EventKind, payload string) {
		t.Helper()
		e, ok, err := h.NewestOfPrompt(t.Context(), "a", id)
		if err != nil || ok != found || e.Kind != kind || string(e.Payload) != payload {
			t.Errorf("%s: %s %s, found %v, %v; want %s %s", id, e.Kind, e.Payload, ok, err, kind, payload)
		}
	}
	const added, sent, other = `{"step":"added","id":"1"}`, `{"step":"sent","id":"1"}`, `{"step":"added","id":"12"}`
	want("1", false, "", "")
	add(coleo.Event{Arm: "b", Kind: coleo.EventQueue, Payload: []byte(added)})
	add(coleo.Event{Kind: coleo.EventQueue, Payload: []byte(other)})
	want("1", false, "", "")
	add(coleo.Event{Kind: coleo.EventQueue, Payload: []byte(added)})
	add(coleo.Event{Kind: coleo.EventQueue, Payload: []byte(sent)})
	want("1", true, coleo.EventQueue, sent)
	add(coleo.Event{Kind: coleo.EventRunStart, Run: "1", Payload: []byte(`{}`)})
	add(coleo.Event{Kind: coleo.EventAssistantText, Run: "1", Source: coleo.SourceHook, Payload: []byte(added)})
	add(coleo.Event{Kind: coleo.EventRunEnd, Run: "1", Payload: []byte(`{}`)})
	want("1", true, coleo.EventRunStart, `{}`)
	want("12", true, coleo.EventQueue, other)
}

// TestThePromptsOfAnArmAreCompleteHoweverLargeTheyAre has prompts that are together larger than a page of events.
// The host that gets the arm next must know the last step of each of them.
func TestThePromptsOfAnArmAreCompleteHoweverLargeTheyAre(t *testing.T) {
	t.Parallel()
	h := hostAt(t, filepath.Join(t.TempDir(), "host.db"))
	ids := []string{"1", "2", "3", "4", "5"}
	text := strings.Repeat("x", pageBytes/4)
	var log []coleo.Event
	for _, id := range ids {
		log = append(log, event(coleo.EventQueue, "a", coleo.QueueChange{Step: coleo.QueueAdded, ID: id}))
	}
	for _, id := range ids {
		begun := event(coleo.EventRunStart, "a", coleo.Receipt{ID: id, Text: text})
		begun.Run = id
		log = append(log, begun)
	}
	if _, err := h.Append(t.Context(), log...); err != nil {
		t.Fatal(err)
	}
	last, err := h.LastPrompts(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if e := last[id]; e.Kind != coleo.EventRunStart {
			t.Errorf("the last event of prompt %s is %q, want that its run has begun", id, e.Kind)
		}
	}
}
