package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// work returns an event of a run.
func work(run string, turn int, kind coleo.EventKind, body any) coleo.Event {
	e := event(kind, "a1", body)
	e.Run, e.Turn = run, turn
	if kind.IsWork() {
		e.Source = coleo.SourceTranscript
	}
	return e
}

// wholeRun returns the events of a run with two turns and three tool calls.
func wholeRun(id string) []coleo.Event {
	return []coleo.Event{
		work(id, 0, coleo.EventRunStart, coleo.Receipt{ID: id, Text: "do it", Origin: coleo.OriginHand}),
		work(id, 1, coleo.EventTurn, coleo.Turn{Model: "m1"}),
		work(id, 1, coleo.EventToolStart, coleo.ToolCall{ID: "c1", Name: "bash", Kind: coleo.ToolExecute}),
		work(id, 1, coleo.EventToolStart, coleo.ToolCall{ID: "c2", Name: "edit", Kind: coleo.ToolEdit}),
		work(id, 1, coleo.EventToolEnd, coleo.ToolEnd{ID: "c1", Outcome: coleo.ToolDenied, Output: "no"}),
		work(id, 1, coleo.EventToolEnd, coleo.ToolEnd{ID: "c2", Outcome: coleo.ToolError}),
		work(id, 1, coleo.EventUsage, coleo.ReplyUsage{Usage: coleo.Usage{Input: 10, Cached: 4, Output: 2, Cost: 0.5}}),
		work(id, 2, coleo.EventTurn, coleo.Turn{}),
		work(id, 2, coleo.EventToolStart, coleo.ToolCall{ID: "c3", Name: "bash"}),
		work(id, 2, coleo.EventFileChanged, coleo.FileChanged{Path: "x", Call: "c2"}),
		work(id, 2, coleo.EventUsage, coleo.ReplyUsage{Usage: coleo.Usage{Input: 5, Output: 1, Reasoning: 1}, Model: "m2"}),
		work(id, 0, coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle, Outcome: coleo.OutcomeFinished, Answer: "done",
			Whole: true, Orphans: []string{"c3"}}),
	}
}

func TestARunsRowTellsItsEvents(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if err := s.CreateArm(t.Context(), coleo.Arm{ID: "a1", Name: "ada", Harness: "h",
		Status: coleo.StatusIdle}); err != nil {
		t.Fatal(err)
	}
	events := wholeRun("run-1")
	events[len(events)-1].Time = start.Add(time.Minute)
	for i, e := range numbered("h1", 0, events...) {
		project(t, s, e)
		run, err := s.Run(t.Context(), "run-")
		if err != nil || run.Open != (i < len(events)-1) || run.Events != i+1 {
			t.Fatalf("after event %d the run is %+v (%v)", i, run, err)
		}
	}
	got, err := s.Run(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "run", got, coleo.Run{ID: "run-1", Arm: "a1", ArmName: "ada", Harness: "h", Host: "h1", Started: start,
		Ended: start.Add(time.Minute), Status: coleo.Idle, Outcome: coleo.OutcomeFinished, Origin: coleo.OriginHand,
		Prompt: "do it", Answer: "done", Whole: true, Model: "m2", Turns: 2, Calls: 3, Denied: 1, Failed: 1, Files: 1,
		Events: 12, Usage: coleo.Usage{Input: 15, Cached: 4, Output: 3, Reasoning: 1, Cost: 0.5}, Orphans: []string{"c3"}})
	kept, _, err := s.RunEvents(t.Context(), EventFilter{Run: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "events", kept, events)
}

// A host agent whose database was put back from a backup ends a run a second time, without an answer. The row must
// keep the first end.
func TestTheEndFromABackupDoesNotReplaceTheEndOfARun(t *testing.T) {
	t.Parallel()
	unproven := work("r", 0, coleo.EventRunEnd, coleo.RunEnd{Outcome: coleo.OutcomeUnproven})
	run := ApplyRun(coleo.Run{}, work("r", 0, coleo.EventRunStart, coleo.Receipt{Text: "one"}))
	if open := ApplyRun(run, unproven); open.Outcome != coleo.OutcomeUnproven {
		t.Errorf("an open run has ended with %+v", open)
	}
	run = ApplyRun(run, work("r", 0, coleo.EventRunEnd, coleo.RunEnd{Answer: "two", Outcome: coleo.OutcomeFinished}))
	if again := ApplyRun(run, unproven); again.Answer != "two" || again.Outcome != coleo.OutcomeFinished {
		t.Errorf("the run has ended with %+v, want its first end", again)
	}
}

func TestLongTextsOfARunAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	long := "x" + strings.Repeat("é", coleo.MaxRunText)
	run := ApplyRun(coleo.Run{}, work("r", 0, coleo.EventRunStart, coleo.Receipt{Text: long}))
	run = ApplyRun(run, work("r", 0, coleo.EventRunEnd, coleo.RunEnd{Answer: long[:coleo.MaxRunText]}))
	if want := long[:coleo.MaxRunText-1]; run.Prompt != want || !run.PromptCut {
		t.Errorf("the prompt has %d bytes, cut %v; want %d", len(run.Prompt), run.PromptCut, len(want))
	}
	// The cut text ended with a part of a character. JSON has replaced each byte of it by three
	// bytes.
	if !strings.HasPrefix(run.Answer, "xé") || !run.AnswerCut {
		t.Errorf("the answer has %d bytes, cut %v", len(run.Answer), run.AnswerCut)
	}
}

// randomRuns returns the log of a host with overlapping runs of three arms. Some events are of
// unknown kinds, and some have unreadable payloads.
func randomRuns(r *rand.Rand, n int) []coleo.Event {
	var out []coleo.Event
	for i := range 3 {
		e := spawn(fmt.Sprint("arm-", i), 1)
		out = append(out, e)
	}
	whole := wholeRun("")
	for range n {
		e := whole[r.IntN(len(whole))]
		arm := r.IntN(3)
		e.Arm, e.Run = fmt.Sprint("arm-", arm), fmt.Sprintf("run-%d-%d", arm, r.IntN(9))
		e.Time = start.Add(time.Duration(r.IntN(1000)) * time.Second)
		switch r.IntN(12) {
		case 0:
			e.Payload = []byte(`[7]`)
		case 1:
			e.Kind = "newer"
		case 2:
			e.Run = ""
		}
		out = append(out, e)
	}
	return numbered("h1", 0, out...)
}

// allRuns returns the rows of all runs.
func allRuns(t *testing.T, s *ServeDB) []coleo.Run {
	t.Helper()
	list, _, err := s.Runs(t.Context(), RunFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRunsAreTheSameHoweverTheLogIsProjected applies the same log to the rows of the runs in three ways:
//   - in random pieces, some of them twice;
//   - again from the stored log;
//   - from the log of an older database.
//
// The rows must be equal.
func TestRunsAreTheSameHoweverTheLogIsProjected(t *testing.T) {
	t.Parallel()
	for seed := range fewer(6) { // with -short, 3 seeds
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 7))
			events := randomRuns(r, 500)
			path := filepath.Join(t.TempDir(), "serve.db")
			live, err := OpenServe(path)
			if err != nil {
				t.Fatal(err)
			}
			feed(t, r, live, events)
			want := allRuns(t, live)
			if len(want) != 27 {
				t.Fatalf("%d runs, want 27", len(want))
			}
			anew := serve(t)
			project(t, anew, slices.Clone(events)...)
			equal(t, "projected at once", allRuns(t, anew), want)
			folded := map[string]coleo.Run{}
			for _, e := range events {
				if e.Run != "" {
					folded[e.Run] = ApplyRun(folded[e.Run], e)
				}
			}
			for _, run := range want {
				one := folded[run.ID]
				one.ArmName, one.Harness, one.Open = run.ArmName, run.Harness, run.Outcome == ""
				equal(t, "folded", one, run)
			}
			makeOlder(t, live)
			live.Close()
			older, err := OpenServe(path)
			if err != nil {
				t.Fatal(err)
			}
			defer older.Close()
			equal(t, "made by the migration", allRuns(t, older), want)
		})
	}
}

// makeOlder undoes the migration that added the table of runs.
func makeOlder(t *testing.T, s *ServeDB) {
	t.Helper()
	if _, err := s.db.writer.Exec("DROP TABLE backlogs; DROP TABLE triggers; DROP TABLE trigger_history; " +
		"DROP TABLE usage; DROP TABLE accounts; " +
		"ALTER TABLE arms DROP COLUMN model_fallback; " +
		"ALTER TABLE arms DROP COLUMN budget; " +
		"ALTER TABLE arms DROP COLUMN default_model; " +
		"ALTER TABLE arms DROP COLUMN labels; DROP TABLE operator_tokens; DROP TABLE runs; DROP INDEX " +
		"run_events_by_arm_kind; DROP INDEX run_events_by_kind; " +
		"DROP INDEX run_events_own; DROP INDEX run_events_work; " +
		"CREATE INDEX run_events_by_arm ON run_events (arm_id, pos); " +
		"CREATE INDEX run_events_by_run ON run_events (run_id, pos); " +
		"CREATE INDEX run_events_by_seq ON run_events (host, seq); " +
		"ALTER TABLE run_events DROP COLUMN source; ALTER TABLE arms DROP COLUMN queue; ALTER TABLE arms DROP COLUMN " +
		"suspensions; PRAGMA user_version = 5"); err != nil {
		t.Fatal(err)
	}
}

func TestRunsAreListedAndFound(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	var events []coleo.Event
	events = append(events, spawn("a1", 1), spawn("a2", 1))
	for i := range 10 {
		id, arm := fmt.Sprintf("run-%d", i), fmt.Sprint("a", 1+i%3) // the arm a3 has no row
		begin := work(id, 0, coleo.EventRunStart, coleo.Receipt{ID: id})
		begin.Arm, begin.Time = arm, start.Add(time.Duration(i)*time.Hour)
		if events = append(events, begin); i%2 == 0 {
			end := work(id, 0, coleo.EventRunEnd, coleo.RunEnd{Outcome: coleo.OutcomeFailed})
			end.Arm = arm
			events = append(events, end)
		}
	}
	project(t, s, numbered("h1", 0, events...)...)
	for name, c := range map[string]struct {
		filter RunFilter
		want   string
	}{
		"all":                {RunFilter{}, "9876543210"},
		"of an arm":          {RunFilter{Arm: "a1"}, "9630"},
		"open":               {RunFilter{Outcome: coleo.OutcomeOpen}, "9731"}, // the arm of the run 5 was removed
		"failed":             {RunFilter{Outcome: coleo.OutcomeFailed}, "86420"},
		"since":              {RunFilter{Since: start.Add(7 * time.Hour)}, "987"},
		"since, of an arm":   {RunFilter{Since: start.Add(4 * time.Hour), Arm: "a2"}, "74"},
		"nothing since":      {RunFilter{Since: start.Add(70 * time.Hour)}, ""},
		"open, of an arm":    {RunFilter{Outcome: coleo.OutcomeOpen, Arm: "a2"}, "71"},
		"of an unknown arm":  {RunFilter{Arm: "a9"}, ""},
		"with an outcome of": {RunFilter{Outcome: coleo.OutcomeDied}, ""},
	} {
		got := ""
		for f := c.filter; ; { // reads pages of two runs
			f.Limit = 2
			list, next, err := s.Runs(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range list {
				got += strings.TrimPrefix(run.ID, "run-")
			}
			if f.Before = next; len(list) == 0 {
				break
			}
		}
		if got != c.want {
			t.Errorf("%s: runs %s, want %s", name, got, c.want)
		}
	}
	for word, want := range map[string]coleo.Code{"run-3": "", "run-33": coleo.ENotFound, "run": coleo.EInvalid,
		"": coleo.EInvalid, "%": coleo.ENotFound} {
		_, err := s.Run(ctx, word)
		code(t, "the run "+word, err, want)
	}
}

func TestEventsAreSelectedByKind(t *testing.T) {
	t.Parallel()
	s := serve(t)
	events := randomRuns(rand.New(rand.NewPCG(1, 2)), 900)
	project(t, s, slices.Clone(events)...)
	kinds := []coleo.EventKind{coleo.EventToolEnd, coleo.EventUsage, coleo.EventRunStart}
	for _, f := range []EventFilter{
		{Kinds: kinds}, {Kinds: kinds[:1]}, {Kinds: kinds, Arm: "arm-1"}, {Kinds: kinds, Run: "run-1-3"},
		{Kinds: kinds[:1], Run: "run-1-3", Arm: "arm-1"}, {Kinds: kinds, Run: "run-1-3", Arm: "arm-2"},
		{Kinds: kinds, Run: "none"}, {Arm: "arm-1"}, {Run: "run-1-3"}, {Run: "run-1-3", Arm: "arm-1"}, {},
	} {
		var got, want []coleo.Event
		for _, e := range events {
			if (f.Run == "" || e.Run == f.Run) && (f.Arm == "" || e.Arm == f.Arm) &&
				(f.Kinds == nil || slices.Contains(f.Kinds, e.Kind)) {
				want = append(want, e)
			}
		}
		for f.Limit = 7; ; {
			page, next, err := s.RunEvents(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			got, f.After = append(got, page...), next
		}
		equal(t, fmt.Sprintf("events by %+v", f), got, want)
	}
}

// TestNoPageReadsTheWholeLog checks that SQLite uses an index for each filter.
func TestNoPageReadsTheWholeLog(t *testing.T) {
	t.Parallel()
	s := serve(t)
	project(t, s, numbered("h1", 0, wholeRun("r")...)...)
	kinds := []coleo.EventKind{coleo.EventToolEnd, coleo.EventUsage}
	for _, f := range []EventFilter{{}, {Arm: "a1"}, {Run: "r"}, {Run: "r", Arm: "a1"}, {Kinds: kinds},
		{Arm: "a1", Kinds: kinds}, {Run: "r", Kinds: kinds}} {
		query, args, err := s.entriesQuery(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		plan := planOf(t, s, query, args)
		if strings.Contains(plan, "SCAN run_events") || !strings.Contains(plan, "SEARCH run_events") {
			t.Errorf("%+v:\n%s", f, plan)
		}
	}
}

func planOf(t *testing.T, s *ServeDB, query string, args []any) string {
	t.Helper()
	rows, err := s.db.reader.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, detail)
	}
	return strings.Join(out, "\n")
}

func TestEventsOfWorkPushNothingElseOut(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	events := []coleo.Event{spawn("a1", 1)}
	for i := range 60 { // more runs than the bound below allows, so that the oldest are deleted
		events = append(events, wholeRun(fmt.Sprint("run-", i))...)
	}
	for range 3000 {
		events = append(events, work("run-59", 3, coleo.EventToolProgress, coleo.ToolProgress{ID: "c9"}))
	}
	project(t, s, numbered("h1", 0, events...)...)
	bound := Bound{Most: 50, Work: 400, Age: 1e6 * time.Hour}
	thinAll(t, func(ctx context.Context, after string) (string, int, error) {
		return s.Thin(ctx, after, start, bound)
	})
	left, _, err := s.RunEvents(ctx, EventFilter{Limit: maxPage})
	if err != nil {
		t.Fatal(err)
	}
	own, works := 0, 0
	for _, e := range left {
		if e.Kind.IsWork() {
			works++
		} else {
			own++
		}
	}
	if own != 50+1 || works != 400 { // one more for arm.spawned, which is always kept
		t.Errorf("%d events of work and %d others are left, want 400 and 51", works, own)
	}
	if first := left[1]; first.Kind != coleo.EventRunStart || first.Run != "run-35" {
		t.Errorf("the oldest event that is left is %s of %s, want the start of run-35", first.Kind, first.Run)
	}
	if n := len(allRuns(t, s)); n != 60 {
		t.Errorf("%d runs are left, want all 60", n)
	}
	thinAll(t, func(ctx context.Context, after string) (string, int, error) {
		return s.ThinRuns(ctx, after, start, Bound{Most: 10, Age: 1e6 * time.Hour})
	})
	if n := len(allRuns(t, s)); n != 25 { // the runs 35 to 59 still have events
		t.Errorf("%d runs are left, want 25", n)
	}
}

// fewer returns half of n with -short, and n otherwise.
func fewer(n uint64) uint64 {
	if testing.Short() {
		return n / 2
	}
	return n
}
