package store

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"coleo.dev"
)

func TestAppendNumbersEventsAndKeepsThemAsTheyAre(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	h := hostAt(t, path)
	first := event(coleo.EventState, "a1", coleo.Change{Note: "<&> é"})
	first.Run, first.Parent, first.Turn = "r1", "r0", 3
	first.Seq, first.Host, first.Epoch = 77, "mine", "mine" // Append must ignore these values
	got, err := h.Append(t.Context(), first, event(coleo.EventWitness, "a2", nil))
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Seq != 1 || got[1].Seq != 2 || got[0].Host != h.Host() || got[0].Epoch != h.Epoch() || h.Epoch() == "" {
		t.Fatalf("keys = %+v", got)
	}
	epoch, name := h.Epoch(), h.Host()
	h.Close()
	h = hostAt(t, path)
	if h.Epoch() != epoch || h.Host() != name || h.Head() != 2 {
		t.Fatalf("after opening anew: host %s epoch %s head %d, want %s %s 2", h.Host(), h.Epoch(), h.Head(), name,
			epoch)
	}
	kept, err := h.Events(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "events", kept, got)
	kept, err = h.Events(t.Context(), 1, 1)
	if err != nil || len(kept) != 1 || kept[0].Seq != 2 {
		t.Fatalf("events after 1 = %v, %v", kept, err)
	}
}

func TestABatchWithOneBadEventLeavesNothing(t *testing.T) {
	t.Parallel()
	h := host(t)
	bad := event(coleo.EventState, "a", nil)
	bad.Payload = []byte("{")
	_, err := h.Append(t.Context(), event(coleo.EventWitness, "a", nil), bad)
	code(t, "append", err, coleo.EInvalid)
	if h.Head() != 0 {
		t.Fatalf("head = %d, want 0", h.Head())
	}
}

func TestTheLogCannotBeRewritten(t *testing.T) {
	t.Parallel()
	h := host(t)
	if _, err := h.Append(t.Context(), event(coleo.EventWitness, "a", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.writer.Exec("UPDATE events SET kind = 'other'"); err == nil {
		t.Fatal("an event was changed")
	}
}

func TestAnotherHostIDIsAnotherHostToFollowers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	h := hostAt(t, path)
	if err := h.SetHost(t.Context(), "box-7"); err != nil {
		t.Fatal(err)
	}
	code(t, "set a bad id", h.SetHost(t.Context(), "a b"), coleo.EInvalid)
	h.Close()
	if h = hostAt(t, path); h.Host() != "box-7" {
		t.Fatalf("host = %q, want box-7", h.Host())
	}
}

func TestFollowersAreWokenAndSeeEveryEventOnce(t *testing.T) {
	t.Parallel()
	const writers, each, followers = 4, 50, 3
	h := host(t)
	var all sync.WaitGroup
	for range followers {
		all.Go(func() {
			var at uint64
			for at < writers*each {
				if err := h.Wait(t.Context(), at); err != nil {
					t.Errorf("wait after %d: %v", at, err)
					return
				}
				events, err := h.Events(t.Context(), at, 7)
				if err != nil || len(events) == 0 {
					t.Errorf("events after %d = %d, %v: woken for nothing", at, len(events), err)
					return
				}
				for _, e := range events {
					if at++; e.Seq != at {
						t.Errorf("seq = %d, want %d", e.Seq, at)
						return
					}
				}
			}
		})
	}
	for range writers {
		all.Go(func() {
			for range each {
				if _, err := h.Append(t.Context(), event(coleo.EventWitness, "a", nil)); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	all.Wait()
}

func TestAWaitEndsWithItsContextAndWithTheLog(t *testing.T) {
	t.Parallel()
	h := host(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Wait(ctx, 0); err != context.Canceled {
		t.Fatalf("wait = %v, want %v", err, context.Canceled)
	}
	ended := make(chan error)
	go func() { ended <- h.Wait(t.Context(), 0) }()
	h.Close()
	code(t, "wait on a closed log", <-ended, coleo.EUnavailable)
}

func TestIntentsAreOnTheDiskAndTheRestIsCheap(t *testing.T) {
	t.Parallel()
	for kind, want := range map[coleo.EventKind]durability{
		coleo.EventSpawned: intent, coleo.EventStopped: intent, coleo.EventDecision: intent, coleo.EventQueue: intent,
		coleo.EventLabels:  intent,
		coleo.EventBudget:  intent,
		coleo.EventMerge:   intent,
		coleo.EventOnLimit: intent,
		coleo.EventWitness: ordinary, coleo.EventState: ordinary,
	} {
		h := host(t)
		if _, err := h.Append(t.Context(), event(kind, "a", nil), event(coleo.EventWitness, "a", nil)); err != nil {
			t.Fatal(err)
		}
		var level int // 1 means NORMAL, 2 means FULL
		if err := h.db.writer.QueryRow("PRAGMA synchronous").Scan(&level); err != nil {
			t.Fatal(err)
		}
		if (level == 2) != (want == intent) {
			t.Errorf("%s was written with synchronous = %d, want %s", kind, level, want)
		}
	}
}

func record(id, name string) ArmRecord {
	return ArmRecord{
		ID: id, Name: name, Harness: "h", Desired: coleo.DesiredRunning, Generation: 2, Status: coleo.StatusIdle,
		Spec:   coleo.SpawnConfig{Arm: id, Workdir: "/w", EnvNames: []string{"A"}, Args: []string{"x"}},
		Handle: &coleo.Handle{Arm: id, Process: coleo.Identity{PID: 7, StartTime: 1 << 60}},
		State:  coleo.Idle, Rule: "composer", LastActivity: start, LastHeartbeat: start.Add(time.Nanosecond),
		Workdir: "/w", Provider: "p", Model: "m", CreatedAt: start,
	}
}

func TestAHostsArmsAreKept(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), host(t)
	want := record("a1", "ada")
	if err := h.PutArm(ctx, want); err != nil {
		t.Fatal(err)
	}
	got, err := h.Arm(ctx, "ada")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "arm", got, want)
	code(t, "another arm of that name", h.PutArm(ctx, record("a2", "ada")), coleo.EConflict)

	want.Intended = []coleo.Receipt{{ID: "r4", Time: start, Text: "four"}}
	want.Queue = &coleo.Queue{Entries: []coleo.Queued{{ID: "q1", Text: "five", Files: []string{"/f"}, Added: start,
		By: "me"}}, Paused: "a test"}
	want.Run, want.Earlier = &coleo.Receipt{ID: "r3"}, []coleo.Receipt{{ID: "r1", Time: start, Text: "one"}, {ID: "r2"}}
	want.Handle, want.Desired, want.LastOutput = nil, coleo.DesiredStopped, start
	if err := h.PutArm(ctx, want); err != nil {
		t.Fatal(err)
	}
	list, err := h.Arms(ctx)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "arms", list, []ArmRecord{want})

	if err := h.DeleteArm(ctx, "a1"); err != nil {
		t.Fatal(err)
	}
	_, err = h.Arm(ctx, "a1")
	code(t, "a deleted arm", err, coleo.ENotFound)
	if err.Error() != `no arm called "a1"` {
		t.Errorf("error = %q", err)
	}
	code(t, "delete twice", h.DeleteArm(ctx, "a1"), coleo.ENotFound)
}

func TestArmsOfAnOlderDatabaseAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	h, want := hostAt(t, path), record("a1", "ada")
	if err := h.PutArm(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.writer.Exec(
		"ALTER TABLE arms DROP COLUMN earlier; ALTER TABLE arms DROP COLUMN intended; ALTER TABLE arms DROP COLUMN trace; " +
			"ALTER TABLE arms DROP COLUMN queue; DROP TABLE spending; " +
			"DROP TABLE suspensions; DROP TABLE tool_calls; DROP TABLE arm_tasks; DROP TABLE file_claims; " +
			"ALTER TABLE events DROP COLUMN epoch; DROP INDEX events_own; DROP INDEX events_work; " +
			"ALTER TABLE events DROP COLUMN source; PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	h.Close()
	got, err := hostAt(t, path).Arm(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "arm", got, want)
}

func TestAnArmAndTheEventsThatLedThereAreWrittenTogether(t *testing.T) {
	t.Parallel()
	h, ctx := host(t), t.Context()
	if err := h.PutArm(ctx, record("a1", "ada"), event(coleo.EventRunStart, "a1", nil)); err != nil {
		t.Fatal(err)
	}
	code(t, "another arm of that name", h.PutArm(ctx, record("a2", "ada"), event(coleo.EventRunEnd, "a2", nil)),
		coleo.EConflict)
	log, err := h.Events(ctx, 0, 0)
	if err != nil || len(log) != 1 || log[0].Kind != coleo.EventRunStart || h.Head() != 1 {
		t.Errorf("log = %+v (%v), head %d; want the first event alone", log, err, h.Head())
	}
}

func TestTheEnvironmentOfAnArmIsNeverKept(t *testing.T) {
	t.Parallel()
	h := host(t)
	r := record("a1", "ada")
	r.Spec.Environ = []string{"KEY=secret"}
	if err := h.PutArm(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got, err := h.Arm(t.Context(), "a1")
	if err != nil || got.Spec.Environ != nil {
		t.Fatalf("environ = %v, %v", got.Spec.Environ, err)
	}
}

func TestWhatIsObservedLeavesTheRestOfAnArmAlone(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), host(t)
	want := record("a1", "ada")
	if err := h.PutArm(ctx, want); err != nil {
		t.Fatal(err)
	}
	later := start.Add(time.Minute)
	if err := h.Observe(ctx, "a1", Observed{Status: coleo.StatusBusy, State: coleo.Executing,
		LastOutput: later}); err != nil {
		t.Fatal(err)
	}
	want.Status, want.State, want.LastOutput = coleo.StatusBusy, coleo.Executing, later
	got, err := h.Arm(ctx, "a1")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "arm", got, want)
	code(t, "observe nobody", h.Observe(ctx, "a9", Observed{}), coleo.ENotFound)
}

func TestARecordThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	h := host(t)
	for name, spoil := range map[string]func(*ArmRecord){
		"a name with a slash": func(r *ArmRecord) { r.Name = "a/b" },
		"no id":               func(r *ArmRecord) { r.ID = "" },
		"no harness":          func(r *ArmRecord) { r.Harness = "" },
		"no desired state":    func(r *ArmRecord) { r.Desired = "" },
		"a status unheard of": func(r *ArmRecord) { r.Status = "fine" },
	} {
		r := record("a1", "ada")
		spoil(&r)
		code(t, name, h.PutArm(t.Context(), r), coleo.EInvalid)
	}
}
