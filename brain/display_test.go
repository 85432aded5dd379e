package brain

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/display"
)

// workLog returns a log of arm "a" with two runs. The last run has n turns and is open.
func workLog(n int) (list []coleo.Event) {
	now := time.Now().UTC()
	add := func(run string, turn int, kind coleo.EventKind, payload any) {
		raw, err := json.Marshal(payload)
		if err != nil {
			panic(err)
		}
		list = append(list, coleo.Event{Host: scriptedHost, Epoch: "e", Seq: uint64(len(list) + 1), Arm: "a", Run: run,
			Turn: turn, Kind: kind, Payload: raw, Time: now}) // serve deletes old events
	}
	work := func(run string, turn int, w coleo.Work) { add(run, turn, coleo.KindOf(w), w) }
	add("", 0, coleo.EventSpawned, coleo.Handle{Harness: "h", Generation: 1})
	work("", 0, coleo.ModeChanged{To: "plan"})
	add("r1", 0, coleo.EventRunStart, coleo.Receipt{Text: "first"})
	work("r1", 1, coleo.Turn{Model: "m"})
	work("r1", 1, coleo.TasksUpdated{Tasks: []coleo.Task{{ID: "1", Text: "t", Status: coleo.TaskDone}}})
	add("r1", 0, coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle, Usage: &coleo.Usage{Input: 7}})
	add("", 0, coleo.EventState, coleo.Change{Reading: coleo.Reading{State: coleo.Idle, Rule: "composer"}})
	add("r2", 0, coleo.EventRunStart, coleo.Receipt{Text: "second"})
	for turn := 1; turn <= n; turn++ {
		id := fmt.Sprint("c", turn)
		work("r2", turn, coleo.Turn{})
		work("r2", turn, coleo.ReplyUsage{Usage: coleo.Usage{Input: 10, Output: 1}})
		work("r2", turn, coleo.AssistantText{Block: coleo.Block{ID: id, Text: "text " + id}})
		work("r2", turn, coleo.ToolCall{ID: id, Name: "bash", Command: "ls"})
		if turn%100 > 0 {
			work("r2", turn, coleo.ToolEnd{ID: id, Outcome: coleo.ToolSuccess})
		}
	}
	return list
}

// TestR6TheDisplayIsMadeAgainFromTheLog: after a restart, serve shows what it showed
// before, also of a run with more events than are always read.
func TestR6TheDisplayIsMadeAgainFromTheLog(t *testing.T) {
	t.Parallel()
	for _, turns := range []int{0, 3, displayRecent} {
		s := newScripted(t)
		log := workLog(turns)
		check(t, s.db.Project(t.Context(), log[:1]))
		_, err := s.brain.Display(t.Context(), "a") // from now on the snapshot is kept up to date
		check(t, err)
		want := display.Snapshot{Arm: "a"}
		for _, e := range log {
			want = display.Apply(want, e)
		}
		for from := 1; from < len(log); from += 500 {
			check(t, s.db.Project(t.Context(), log[from:min(from+500, len(log))]))
		}
		live, err := s.brain.Display(t.Context(), "a")
		check(t, err)
		fresh := newDisplays()
		s.brain.displays.mu.Lock()
		s.brain.displays.known = fresh.known // as after a restart
		s.brain.displays.mu.Unlock()
		again, err := s.brain.Display(t.Context(), "a")
		check(t, err)
		arm, err := s.db.Arm(t.Context(), "a")
		check(t, err)
		if want = want.With(arm); !reflect.DeepEqual(live, want) {
			t.Errorf("with %d turns the live snapshot is\n%+v\nwant\n%+v", turns, live, want)
		}
		if !reflect.DeepEqual(again, live) {
			t.Errorf("with %d turns the snapshot after a restart is\n%+v\nbefore\n%+v", turns, again, live)
		}
		if turns > 0 && (live.RunUsage.Input != 10*turns || live.Mode != "plan" || live.Usage == nil || live.Partial) {
			t.Errorf("with %d turns the snapshot is %+v", turns, live)
		}
	}
}

func TestM23TheDisplayIsToldWhenItChanges(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	log := workLog(20)
	check(t, s.db.Project(t.Context(), log[:8]))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	next, end := iter.Pull(s.brain.Displays(ctx))
	defer end()
	check(t, s.db.Project(t.Context(), log[8:]))
	told := 0
	for {
		got, ok := next()
		if !ok {
			t.Fatal("the sequence has ended")
		}
		if told++; got.Arm != "a" || got.Run != "r2" {
			t.Errorf("told %+v", got)
		}
		if got.Turn == 20 && len(got.Tools) == 0 {
			break
		}
	}
	if told > 5 {
		t.Errorf("%d snapshots were told of %d events that came at once", told, len(log)-8)
	}
	s.brain.displays.changed("a") // for example because its health was published
	s.brain.displays.changed("nobody")
	stop()
	if got, ok := next(); ok {
		t.Errorf("what had not changed was told again: %+v", got)
	}
	s.until("the follower has left", func() bool {
		s.brain.displays.mu.Lock()
		defer s.brain.displays.mu.Unlock()
		return len(s.brain.displays.followers) == 0
	})
}
