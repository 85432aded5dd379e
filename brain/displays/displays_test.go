package displays

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/display"
	"coleo.dev/store"
)

// pictures is a Snapshots with a real database.
type pictures struct {
	*Snapshots
	t     *testing.T
	db    *store.ServeDB
	noted uint64 // the position of the last event that was passed to NoteLogged
}

func newPictures(t *testing.T) *pictures {
	t.Helper()
	s := &pictures{t: t}
	var err error
	s.db, err = store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	check(t, err)
	t.Cleanup(func() { check(t, s.db.Close()) })
	s.Snapshots = New(Config{DB: s.db, Log: slog.New(slog.DiscardHandler), Find: s.db.Arm,
		CatchUp: func(context.Context, string) {}})
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// project writes events into serve's log, and passes them to NoteLogged.
func (s *pictures) project(list []coleo.Event) {
	s.t.Helper()
	check(s.t, s.db.Project(s.t.Context(), list))
	s.note()
}

// note passes the new events of serve's log to NoteLogged.
func (s *pictures) note() {
	s.t.Helper()
	for {
		page, err := s.db.Entries(s.t.Context(), store.EventFilter{After: s.noted})
		check(s.t, err)
		if len(page) == 0 {
			return
		}
		for _, e := range page {
			s.noted = e.Position
			s.NoteLogged(e)
		}
	}
}

// workLog returns a log of arm "a" with two runs. The second run has n turns and has not ended.
func workLog(n int) (list []coleo.Event) {
	now := time.Now().UTC()
	add := func(run string, turn int, kind coleo.EventKind, payload any) {
		raw, err := json.Marshal(payload)
		if err != nil {
			panic(err)
		}
		list = append(list, coleo.Event{Host: "h", Epoch: "e", Seq: uint64(len(list) + 1), Arm: "a", Run: run,
			Turn: turn, Kind: kind, Payload: raw, Time: now}) // the present time, because serve deletes old events
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

// TestR6TheDisplayIsMadeAgainFromTheLog checks that serve shows the same after a restart as before.
// One of the runs has more events than displayRecent.
func TestR6TheDisplayIsMadeAgainFromTheLog(t *testing.T) {
	t.Parallel()
	for _, turns := range []int{0, 3, displayRecent} {
		s := newPictures(t)
		log := workLog(turns)
		s.project(log[:1])
		_, err := s.Display(t.Context(), "a") // so that NoteLogged keeps the snapshot up to date
		check(t, err)
		want := display.Snapshot{Arm: "a"}
		for _, e := range log {
			want = display.Apply(want, e)
		}
		for from := 1; from < len(log); from += 500 {
			s.project(log[from:min(from+500, len(log))])
		}
		live, err := s.Display(t.Context(), "a")
		check(t, err)
		again, err := New(s.config).Display(t.Context(), "a") // a new Snapshots, as after a restart
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
	s := newPictures(t)
	log := workLog(20)
	s.project(log[:8])
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	next, end := iter.Pull(s.Displays(ctx))
	defer end()
	s.project(log[8:])
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
	s.NoteChanged("a") // serve also calls this for other reasons, for example when the arm's health has changed
	s.NoteChanged("nobody")
	stop()
	if got, ok := next(); ok {
		t.Errorf("what had not changed was told again: %+v", got)
	}
	if len(s.followers) != 0 {
		t.Errorf("%d followers are kept after their end", len(s.followers))
	}
}

// Serve passes events to NoteLogged a little later than it writes them into its log. A request in
// between must see the newest event, and no event may be counted twice.
func TestADisplayIsAsNewAsTheLog(t *testing.T) {
	t.Parallel()
	s := newPictures(t)
	log := workLog(3)
	s.project(log[:10])
	_, err := s.Display(t.Context(), "a")
	check(t, err)
	check(t, s.db.Project(t.Context(), log[10:])) // these events are in the log, but were not passed to NoteLogged
	early, err := s.Display(t.Context(), "a")
	check(t, err)
	s.note()
	late, err := s.Display(t.Context(), "a")
	check(t, err)
	if early.Turn != 3 || early.RunUsage.Input != 30 || !reflect.DeepEqual(late, early) {
		t.Errorf("before the events are noted, the snapshot is\n%+v\nand afterwards\n%+v", early, late)
	}
}

func TestARemovedArmIsForgotten(t *testing.T) {
	t.Parallel()
	s := newPictures(t)
	log := workLog(3)
	s.project(log)
	_, err := s.Display(t.Context(), "a")
	check(t, err)
	last := log[len(log)-1]
	s.project([]coleo.Event{{Host: "h", Epoch: "e", Seq: last.Seq + 1, Arm: "a", Kind: coleo.EventRemoved,
		Time: last.Time}})
	if _, err := s.Display(t.Context(), "a"); coleo.ErrorCode(err) != coleo.ENotFound || len(s.known) != 0 {
		t.Errorf("the display of a removed arm: %v, and %d snapshots are kept", err, len(s.known))
	}
}

// Serve may not have read the host's newest events yet. A request for a display must read them first.
func TestADisplayFirstReadsTheHostsLog(t *testing.T) {
	t.Parallel()
	s := newPictures(t)
	log := workLog(3)
	s.project(log[:5])
	s.config.CatchUp = func(_ context.Context, host string) {
		if host == "h" {
			s.project(log[5:])
		}
	}
	if got, err := s.Display(t.Context(), "a"); err != nil || got.Turn != 3 {
		t.Errorf("the display is %+v, %v, want turn 3", got, err)
	}
}
