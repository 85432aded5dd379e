package repeat

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
)

// The tests run in a synctest bubble. Its clock moves only when all goroutines wait.
func TestM25ATaskIsRepeatedUntilItIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(slog.New(slog.DiscardHandler))
		begun := time.Now()
		var at []time.Duration
		down := 0
		err := r.Add(t.Context(), Task{ID: "a", Every: time.Minute, Immediate: true,
			Do: func(context.Context) error {
				at = append(at, time.Since(begun))
				return errors.New("a task that fails goes on")
			},
			Shutdown: func() { down++ }})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(150 * time.Second)
		if err := r.Remove("a"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if len(at) != 3 || at[0] != 0 || at[2] != 2*time.Minute || down != 1 {
			t.Errorf("it was done at %v and shut down %d times, want 0, 1m, 2m and once", at, down)
		}
	})
}

func TestARemovalWaitsForTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(slog.New(slog.DiscardHandler))
		done := false
		task := func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second) // the task completes its work although its context has ended
			done = true
			return nil
		}
		for _, id := range []string{"a", "b"} {
			if err := r.Add(t.Context(), Task{ID: id, Every: time.Minute, Immediate: true, Do: task}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := r.Remove("a"); err != nil || !done {
			t.Errorf("the task has ended %v, and Remove returned %v", done, err)
		}
		before := time.Now()
		if r.StopAll(); time.Since(before) != time.Second || len(r.List()) != 0 {
			t.Errorf("after %s the tasks %v are left", time.Since(before), r.List())
		}
	})
}

func TestABadTaskIsRefused(t *testing.T) {
	t.Parallel()
	r := New(slog.New(slog.DiscardHandler))
	do := func(context.Context) error { return nil }
	add := func(id string, every time.Duration) coleo.Code {
		return coleo.ErrorCode(r.Add(t.Context(), Task{ID: id, Every: every, Do: do}))
	}
	for _, c := range []struct {
		id    string
		every time.Duration
		want  coleo.Code
	}{{"a", time.Hour, ""}, {"a", time.Hour, coleo.EConflict}, {"", time.Hour, coleo.EInvalid}, {"b", 0, coleo.EInvalid}} {
		if got := add(c.id, c.every); got != c.want {
			t.Errorf("Add %q every %s returns %q, want %q", c.id, c.every, got, c.want)
		}
	}
	if err := r.Remove("b"); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("Remove of an unknown task returns %v", err)
	}
	r.StopAll()
	if got := add("c", time.Hour); got != coleo.EUnavailable {
		t.Errorf("Add after StopAll returns %q", got)
	}
}
