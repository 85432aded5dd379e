package queue

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

func ids(q coleo.Queue) []string {
	out := []string{}
	for _, e := range q.Entries {
		out = append(out, e.ID)
	}
	return out
}

func clone(q coleo.Queue) coleo.Queue {
	q.Entries = slices.Clone(q.Entries)
	return q
}

// TestAQueueIsAListOfWhatWasAdded applies random changes to a queue and to a plain list of ids.
// Both must have the same entries. No function may change the queue that it receives, and none may
// double or lose an entry.
func TestAQueueIsAListOfWhatWasAdded(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	var q coleo.Queue
	var model []string
	var taken []coleo.Queued // entries that were not put back
	added := 0
	for step := range 2_000 {
		before, was := clone(q), q
		what, err := "", error(nil)
		any := func() string {
			if len(model) == 0 || r.IntN(8) == 0 {
				return "none"
			}
			return model[r.IntN(len(model))]
		}
		switch r.IntN(8) {
		case 0, 1:
			id := fmt.Sprint("e", added)
			added++
			q, err = Add(q, coleo.Queued{ID: id, Text: "say " + id})
			if what = "add " + id; err == nil {
				model = append(model, id)
			} else if len(model) < coleo.MaxQueued {
				t.Fatalf("seed %d, step %d: %s: %v", seed, step, what, err)
			}
		case 2:
			id := any()
			what = "edit " + id
			q, err = Edit(q, id, "other", nil)
		case 3:
			id, to := any(), r.IntN(len(model)+3)
			what = fmt.Sprint("move ", id, " to ", to)
			q, err = Move(q, id, to)
			if at := slices.Index(model, id); at >= 0 && to > 0 {
				model = slices.Delete(model, at, at+1)
				model = slices.Insert(model, min(to-1, len(model)), id)
			}
		case 4:
			id := any()
			what = "remove " + id
			q, err = Remove(q, id)
			if at := slices.Index(model, id); at >= 0 {
				model = slices.Delete(model, at, at+1)
			}
		case 5, 6:
			e, rest, ok := Take(q)
			what = "take"
			if ok != (len(model) > 0 && q.Paused == "") || ok && e.ID != model[0] {
				t.Fatalf("seed %d, step %d: took %q, %v of %v", seed, step, e.ID, ok, model)
			}
			if ok {
				q, model, taken = rest, model[1:], append(taken, e)
			}
			if ok && r.IntN(2) == 0 {
				q, model, taken = PutBack(q, e, "held"), append([]string{e.ID}, model...), taken[:len(taken)-1]
			}
		case 7:
			if what = "pause or resume"; q.Paused == "" {
				q = Pause(q, "why", r.IntN(2) == 0)
			} else {
				q, _ = Resume(q)
			}
		}
		if !reflect.DeepEqual(before, was) {
			t.Fatalf("seed %d, step %d: %s changed the queue that it got", seed, step, what)
		}
		if err != nil && !reflect.DeepEqual(q, was) {
			t.Fatalf("seed %d, step %d: %s: %v, and the queue has changed", seed, step, what, err)
		}
		if got := ids(q); !slices.Equal(got, model) {
			t.Fatalf("seed %d, step %d: after %s the queue has %v, want %v", seed, step, what, got, model)
		}
	}
	for _, e := range taken {
		if slices.Contains(model, e.ID) {
			t.Errorf("%s was taken and is in the queue", e.ID)
		}
	}
}

func TestAQueueIsBounded(t *testing.T) {
	t.Parallel()
	var q coleo.Queue
	for i := range coleo.MaxQueued {
		var err error
		if q, err = Add(q, coleo.Queued{ID: fmt.Sprint(i), Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Add(q, coleo.Queued{ID: "more", Text: "x"}); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("one entry more: %v", err)
	}
	if _, err := Edit(q, "0", strings.Repeat("x", coleo.MaxQueuedBytes), nil); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("too many bytes: %v", err)
	}
	e, rest, _ := Take(q)
	rest, err := Add(rest, coleo.Queued{ID: "last", Text: "x"})
	if back := PutBack(rest, e, "busy"); err != nil || len(back.Entries) != coleo.MaxQueued+1 || back.Held != "busy" {
		t.Errorf("an entry that goes back: %v, %d entries", err, len(back.Entries))
	}
	if _, err := Add(coleo.Queue{}, coleo.Queued{Text: " \n"}); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("an empty prompt: %v", err)
	}
}

func TestTheReasonOfTheFirstEntryGoesWithIt(t *testing.T) {
	t.Parallel()
	q := coleo.Queue{Entries: []coleo.Queued{{ID: "a", Text: "x"}, {ID: "b", Text: "x"}}, Held: "why"}
	for what, change := range map[string]func() (coleo.Queue, error){
		"removed": func() (coleo.Queue, error) { return Remove(q, "a") },
		"moved":   func() (coleo.Queue, error) { return Move(q, "a", 2) },
		"edited":  func() (coleo.Queue, error) { return Edit(q, "a", "y", nil) },
		"resumed": func() (coleo.Queue, error) { return Resume(q) },
	} {
		if got, err := change(); err != nil || got.Held != "" {
			t.Errorf("%s: held %q, %v", what, got.Held, err)
		}
	}
	if got, err := Remove(q, "b"); err != nil || got.Held != "why" {
		t.Errorf("another entry removed: held %q, %v", got.Held, err)
	}
	paused := Pause(Pause(q, "by hand", true), "lost", false)
	if paused.Paused != "by hand" || !paused.ByHand {
		t.Errorf("a loss changes the pause of a person: %+v", paused)
	}
}
