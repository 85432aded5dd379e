package queue

import (
	"reflect"
	"slices"
	"testing"

	"coleo.dev"
)

// A hand-over moves an arm's queue to a successor. No prompt may be in both queues at any time. If the
// hand-over fails, the arm must have its previous queue again.
func TestAHandOverMovesEachPromptOnceOrGivesItBack(t *testing.T) {
	t.Parallel()
	to := coleo.Handover{Run: "run", Arm: "arm-b", Name: "b", Harness: "codex"}
	entries := []coleo.Queued{{ID: "go on", Continues: 1}, {ID: "1"}, {ID: "ask again", Check: &coleo.Check{}}, {ID: "2"}}
	for name, was := range map[string]coleo.Queue{
		"empty":  {},
		"held":   {Entries: entries[1:2], Held: "it works"},
		"paused": {Entries: entries[1:], Paused: "by me", ByHand: true},
		"parked": {Entries: entries, Parked: &coleo.Parked{Try: 2, Prompt: "again"}},
	} {
		given := clone(was)
		q, moved := HandOver(was, to)
		if !reflect.DeepEqual(was, given) {
			t.Errorf("%s: HandOver has changed the queue that it got", name)
		}
		if _, _, ok := Take(q); ok || q.Paused == "" || q.Parked != nil || !q.Handover.Open {
			t.Errorf("%s: during the hand-over the queue is %+v", name, q)
		}
		for _, e := range moved {
			if slices.Contains(ids(q), e.ID) || e.Continues > 0 || e.Check != nil {
				t.Errorf("%s: %s is in both queues, or is Coleo's own", name, e.ID)
			}
		}
		want := slices.DeleteFunc(ids(was), func(id string) bool { return id != "1" && id != "2" })
		if got := ids(coleo.Queue{Entries: moved}); !slices.Equal(got, want) {
			t.Errorf("%s: %v moved, want %v", name, got, want)
		}
		if back, came := TakeBack(q); !reflect.DeepEqual(back, was) || len(came) != len(moved) {
			t.Errorf("%s: it gets back %+v, want %+v", name, back, was)
		}
		added, err := Add(q, coleo.Queued{ID: "new", Text: "x"})
		if back, _ := TakeBack(added); err != nil || !slices.Equal(ids(back), append(ids(was), "new")) {
			t.Errorf("%s: with a prompt that was added meanwhile, it gets back %v, %v", name, ids(back), err)
		}
		if _, err := Resume(q); coleo.ErrorCode(err) != coleo.EBusy {
			t.Errorf("%s: Resume during the hand-over = %v", name, err)
		}
		done := HandedOver(q)
		if done.Handover.Open || done.Handover.Before != nil || done.Handover.Arm != "arm-b" || done.Paused == "" {
			t.Errorf("%s: after the hand-over the queue is %+v", name, done)
		}
		if again, err := Resume(done); err != nil || again.Paused != "" || again.Handover != nil {
			t.Errorf("%s: after a person has resumed it, the queue is %+v, %v", name, again, err)
		}
	}
}
