package display

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
)

// event returns an event of arm "a" with the payload v.
func event(seq int, run string, kind coleo.EventKind, v any) coleo.Event {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return coleo.Event{Host: "h", Epoch: "e", Seq: uint64(seq), Arm: "a", Run: run, Kind: kind, Payload: raw, Turn: 1,
		Time: time.Unix(int64(seq), 0).UTC()}
}

func of(seq int, run string, w coleo.Work) coleo.Event { return event(seq, run, coleo.KindOf(w), w) }

func reading(s coleo.State, d *coleo.Dialog) coleo.Change {
	return coleo.Change{Reading: coleo.Reading{State: s, Rule: "r", Dialog: d}}
}

func text(id, s string) coleo.AssistantText {
	return coleo.AssistantText{Block: coleo.Block{ID: id, Text: s}}
}

func log() []coleo.Event {
	return []coleo.Event{
		event(1, "", coleo.EventSpawned, coleo.Handle{Harness: "x"}),
		event(2, "", coleo.EventState, reading(coleo.Idle, nil)),
		of(3, "", coleo.ModeChanged{To: "plan"}),
		event(4, "r1", coleo.EventRunStart, coleo.Receipt{Text: "do it"}),
		of(5, "r1", coleo.Turn{Model: "m1"}),
		of(6, "r1", coleo.Thinking{Block: coleo.Block{ID: "t", Text: "hm"}}),
		of(7, "r1", text("b1", "I will ")),
		of(8, "r1", text("b1", "do it.")),
		of(9, "r1", coleo.TasksUpdated{Tasks: []coleo.Task{{ID: "1", Status: coleo.TaskDone}, {ID: "2"}}}),
		of(10, "r1", coleo.ToolCall{ID: "c1", Name: "bash", Kind: coleo.ToolExecute, Command: "npm\n  test"}),
		of(11, "r1", coleo.ToolCall{ID: "c2", Name: "edit", Files: []string{"a.go"}}),
		event(12, "r1", coleo.EventState, reading(coleo.WaitingApproval, &coleo.Dialog{Title: "T"})),
		of(13, "r1", coleo.ToolEnd{ID: "c2", Outcome: coleo.ToolSuccess}),
		of(14, "r1", coleo.ReplyUsage{Usage: coleo.Usage{Input: 10, Output: 1}}),
		of(15, "r1", coleo.ReplyUsage{Usage: coleo.Usage{Input: 20, Output: 2}}),
	}
}

func apply(s Snapshot, events ...coleo.Event) Snapshot {
	for _, e := range events {
		s = Apply(s, e)
	}
	return s
}

func TestM22ASnapshotShowsWhatTheArmDoes(t *testing.T) {
	t.Parallel()
	s := apply(Snapshot{}, log()...)
	want := Snapshot{Arm: "a", State: coleo.WaitingApproval, Rule: "r", Dialog: &coleo.Dialog{Title: "T"}, Run: "r1",
		Open: true, Prompt: "do it", Turn: 1, Began: time.Unix(4, 0).UTC(), RunUsage: Tokens{Input: 30, Output: 3},
		Tools: []Tool{{ID: "c1", Run: "r1", Name: "bash", Kind: coleo.ToolExecute, Title: "bash: npm test",
			Since: time.Unix(10, 0).UTC()}},
		Text: "I will do it.", block: "b1", Tasks: []coleo.Task{{ID: "1", Status: coleo.TaskDone}, {ID: "2"}},
		Mode: "plan", Model: "m1", Time: time.Unix(15, 0).UTC(), Host: "h", Epoch: "e", Seq: 15}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("the snapshot is\n%+v\nwant\n%+v", s, want)
	}
	ended := apply(s, event(16, "r1", coleo.EventRunEnd, coleo.RunEnd{Usage: &coleo.Usage{Input: 99}}))
	if ended.Open || len(ended.Tools) > 0 || ended.Usage.Input != 99 || ended.Text == "" {
		t.Errorf("after the end of the run the snapshot is %+v", ended)
	}
	again := apply(ended, event(17, "r2", coleo.EventRunStart, coleo.Receipt{Text: "more"}))
	if again.Text != "" || again.Turn != 0 || again.RunUsage != (Tokens{}) || again.Usage == nil || again.Mode != "plan" {
		t.Errorf("in the next run the snapshot is %+v", again)
	}
	stopped := apply(s, event(16, "", coleo.EventStopped, coleo.Reading{Rule: "killed"}))
	if stopped.State != coleo.Dead || stopped.Dialog != nil || len(stopped.Tools) > 0 {
		t.Errorf("after the arm was stopped the snapshot is %+v", stopped)
	}
}

func TestASnapshotIsNotChanged(t *testing.T) {
	t.Parallel()
	events := log()
	var all []Snapshot
	var texts []string
	s := Snapshot{}
	for _, e := range events {
		all, texts = append(all, s), append(texts, fmt.Sprintf("%+v", s))
		s = Apply(s, e)
		for _, known := range events[:e.Seq] {
			if !reflect.DeepEqual(Apply(s, known), s) {
				t.Errorf("event %d changes the snapshot after event %d again", known.Seq, e.Seq)
			}
		}
	}
	for i := range all {
		if fmt.Sprintf("%+v", all[i]) != texts[i] {
			t.Errorf("the snapshot after %d events has changed", i)
		}
	}
	foreign := of(99, "r1", coleo.ModeChanged{To: "other"})
	foreign.Arm = "b"
	if !reflect.DeepEqual(Apply(s, foreign), s) {
		t.Error("an event of another arm changes the snapshot")
	}
}

func TestTheRowOfTheArmKnowsBetter(t *testing.T) {
	t.Parallel()
	s := apply(Snapshot{}, log()...).With(coleo.Arm{ID: "a", State: coleo.Dead, Rule: "gone", Model: "row's"})
	if s.State != coleo.Dead || s.Rule != "gone" || len(s.Tools) > 0 || s.Dialog != nil || s.Model != "m1" {
		t.Errorf("with a dead arm the snapshot is %+v", s)
	}
}

// randomLog returns a log with events of all kinds, in any order, some of them wrong.
func randomLog(r *rand.Rand) []coleo.Event {
	d := &coleo.Dialog{Title: "T", Fingerprint: "f"}
	var out []coleo.Event
	for i := range 200 {
		run, id := fmt.Sprint("r", r.IntN(3)), fmt.Sprint("c", r.IntN(50))
		choices := []coleo.Event{
			event(i, run, coleo.EventRunStart, coleo.Receipt{Text: "x"}), event(i, run, coleo.EventRunEnd, coleo.RunEnd{}),
			event(i, run, coleo.EventState, reading([]coleo.State{coleo.Idle, coleo.Dead, coleo.Executing}[r.IntN(3)], nil)),
			event(i, run, coleo.EventState, reading(coleo.WaitingApproval, d)), of(i, run, coleo.ToolCall{ID: id, Name: "n"}),
			of(i, run, coleo.ToolCall{ID: id, Name: "m", Command: strings.Repeat("é", 300)}), of(i, run, coleo.ToolEnd{ID: id}),
			of(i, run, text(id, strings.Repeat("ü", r.IntN(3000)))), of(i, run,
				coleo.TasksUpdated{Tasks: []coleo.Task{{ID: id}}}),
			event(i, run, coleo.EventStopped, coleo.Reading{}), event(i, run, coleo.EventSpawned, coleo.Handle{}),
			of(i, run, coleo.ReplyUsage{Usage: coleo.Usage{Input: 1}, Model: id}), of(i, run, coleo.Problem{Text: id}),
			{Host: "h", Epoch: "e", Seq: uint64(i), Arm: "a", Run: run, Kind: coleo.EventKind([]string{"turn", "run_start",
				"tool_call_start", "state", "unknown", "arm.removed"}[r.IntN(6)])},
		}
		out = append(out, choices[r.IntN(len(choices))])
	}
	return out
}

func TestR6ASnapshotFromTheLogEqualsTheLiveOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		events := randomLog(r)
		live := apply(Snapshot{}, events...)
		// Replay the log from an earlier event, as after a restart.
		cut := r.IntN(len(events))
		replayed := apply(apply(Snapshot{}, events[:cut]...), events[r.IntN(cut+1):]...)
		if !reflect.DeepEqual(live, replayed) {
			t.Fatalf("seed %d: live\n%+v\nreplayed\n%+v", seed, live, replayed)
		}
		if len(live.Text) > MaxText || len(live.Tools) > MaxTools || strings.ContainsRune(live.Text, '\uFFFD') {
			t.Fatalf("seed %d: the snapshot is too large: %d bytes of text, %d tools", seed, len(live.Text), len(live.Tools))
		}
	}
}

// fakeClock is a clock that a test moves.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[chan time.Time]time.Time
}

func (f *fakeClock) Now() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.now }

func (f *fakeClock) After(d time.Duration) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan time.Time, 1)
	f.timers[c] = f.now.Add(d)
	return c
}

// advance moves the clock, and waits until all goroutines of the test (its synctest bubble) wait
// again.
func (f *fakeClock) advance(d time.Duration) {
	f.mu.Lock()
	f.now = f.now.Add(d)
	for c, at := range f.timers {
		if !at.After(f.now) {
			c <- f.now
			delete(f.timers, c)
		}
	}
	f.mu.Unlock()
	synctest.Wait()
}

func TestM22ChangesAreCoalesced(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		changes []change
		want    []string // the time and the keys of each result of Next
	}{
		"nothing is told at once":           {nil, nil},
		"one change":                        {[]change{{0, "a"}}, []string{"250ms [a]"}},
		"quiet begins anew":                 {[]change{{0, "a"}, {100 * ms, "a"}}, []string{"350ms [a]"}},
		"at most half a second":             {[]change{{0, "a"}, {200 * ms, "a"}, {400 * ms, "a"}}, []string{"500ms [a]"}},
		"keys wait on their own":            {[]change{{0, "a"}, {100 * ms, "b"}}, []string{"250ms [a]", "350ms [b]"}},
		"keys that are due at once":         {[]change{{0, "b"}, {0, "a"}}, []string{"250ms [a b]"}},
		"a change after it was told":        {[]change{{0, "a"}, {300 * ms, "a"}}, []string{"250ms [a]", "550ms [a]"}},
		"a storm is told every half second": {storm(), []string{"500ms [a]", "1s [a]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := &fakeClock{timers: map[chan time.Time]time.Time{}}
				begin := clock.Now()
				co := NewCoalescer(Window, MaxWait, clock)
				ctx, stop := context.WithCancel(t.Context())
				var got []string
				done := make(chan struct{})
				go func() {
					defer close(done)
					for keys, err := co.Next(ctx); err == nil; keys, err = co.Next(ctx) {
						got = append(got, fmt.Sprint(clock.Now().Sub(begin), " ", keys))
					}
				}()
				synctest.Wait()
				for at := time.Duration(0); at <= 1200*ms; at += 10 * ms {
					for _, x := range c.changes {
						if x.at == at {
							co.Changed(x.key)
						}
					}
					synctest.Wait()
					clock.advance(10 * ms)
				}
				stop()
				<-done
				if !slices.Equal(got, c.want) {
					t.Errorf("told %q, want %q", got, c.want)
				}
			})
		})
	}
}

// change is a call of Changed with a key, at a time after the beginning of the test.
type change struct {
	at  time.Duration
	key string
}

// storm returns a change every 20 ms for 800 ms.
func storm() (out []change) {
	for at := time.Duration(0); at <= 780*time.Millisecond; at += 20 * time.Millisecond {
		out = append(out, change{at, "a"})
	}
	return out
}
