package runner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
	"coleo.dev/sqlite"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// These tests check that a trigger whose starts hang or fail does not stop the other triggers.

// patience bounds a wait for something that happens within a second.
const patience = 30 * time.Second

// schedule adds a schedule that is never due.
func (b *bench) schedule(name, workdir string) {
	b.t.Helper()
	if _, err := b.Add(b.t.Context(), wire.TriggerRequest{Name: name, Kind: trigger.Schedule, Template: "t",
		Workdir: workdir, MaxArms: trigger.MostArms, Cron: "@yearly", Zone: "UTC"}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) runNow(name string, times int) {
	b.t.Helper()
	for range times {
		if _, err := b.RunNow(b.t.Context(), name); err != nil {
			b.t.Fatal(err)
		}
	}
}

// running runs the runner until the test ends.
func (b *bench) running() {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(ctx)
	}()
	b.t.Cleanup(func() { // runs before the database is closed
		cancel()
		<-ended
	})
}

// until waits until ok returns true.
func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within %s: %s; the history is %q", patience, what, b.told())
		}
	}
}

func (b *bench) ordersFor(name string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.requests {
		if q.Labels[trigger.Label] == name {
			n++
		}
	}
	return n
}

func TestStartsThatHangDoNotStopOtherTriggers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.bounds.slow = 20 * time.Millisecond
	b.starts = func(ctx context.Context, q wire.SpawnRequest) (brain.OnceResult, error) {
		if q.Labels[trigger.Label] == "good" {
			return brain.OnceStarted, nil
		}
		<-ctx.Done()
		return brain.OnceUnknown, ctx.Err()
	}
	for i := range 3 {
		name := fmt.Sprint("hangs", i)
		b.schedule(name, b.dir)
		b.runNow(name, 2*atOnce)
	}
	b.schedule("good", b.dir)
	b.runNow("good", 1)
	b.running()
	b.until("the run of the good trigger starts", func() bool { return b.ordersFor("good") == 1 })
	for i := range 3 {
		if n := b.ordersFor(fmt.Sprint("hangs", i)); n > atOnce {
			t.Errorf("%d arms of one trigger start at the same time, want at most %d", n, atOnce)
		}
	}
}

// The first runs cannot start because their host agent is away, so the runner tries them again.
// These attempts must not take all slots, so that the run of the other trigger can start.
func TestRunsThatMustWaitDoNotStopOtherTriggers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.starts = func(_ context.Context, q wire.SpawnRequest) (brain.OnceResult, error) {
		if q.Labels[trigger.Label] == "good" {
			return brain.OnceStarted, nil
		}
		return brain.OnceLater, errors.New("no host agent")
	}
	b.schedule("waits", b.dir)
	b.runNow("waits", 2*atOnce)
	b.schedule("good", b.dir)
	b.runNow("good", 1)
	b.running()
	b.until("the run of the good trigger starts", func() bool { return b.ordersFor("good") == 1 })
}

// The runner reads the list of open runs while starts are ending. So the list can contain a run
// whose start has already succeeded. The runner must not start such a run again.
func TestEachRunIsOrderedOnce(t *testing.T) {
	t.Parallel()
	const triggers = 10
	b := newBench(t)
	b.starts = func(context.Context, wire.SpawnRequest) (brain.OnceResult, error) { return brain.OnceStarted, nil }
	for i := range triggers {
		b.schedule(fmt.Sprint("t", i), b.dir)
		b.runNow(fmt.Sprint("t", i), trigger.MostArms)
	}
	b.running()
	b.until("all runs have started", func() bool {
		open, err := b.DB.OpenTriggerRuns(t.Context())
		return err == nil && len(open) == 0
	})
	for i := range triggers {
		if n := b.ordersFor(fmt.Sprint("t", i)); n != trigger.MostArms {
			t.Errorf("%d orders for %d runs", n, trigger.MostArms)
		}
	}
}

func TestAStartThatHangsIsEndedAndTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.bounds.start = 20 * time.Millisecond
	b.starts = func(ctx context.Context, _ wire.SpawnRequest) (brain.OnceResult, error) {
		if b.ordersFor("n") > 1 {
			return brain.OnceStarted, nil
		}
		<-ctx.Done()
		return brain.OnceUnknown, ctx.Err()
	}
	b.schedule("n", b.dir)
	b.runNow("n", 1)
	b.running()
	b.until("the second attempt starts the arm", func() bool { return b.told()[0] == "run started0" })
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.orders[1].Again || b.orders[1].Arm != b.orders[0].Arm {
		t.Errorf("the orders are %+v", b.orders)
	}
}

// A template is read from a work folder, which can be on a file system that does not answer. Such a
// read must not delay the other triggers.
func TestATemplateThatCannotBeReadDoesNotStopOtherTriggers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hung := filepath.Join(b.dir, "hung")
	b.schedule("hangs", hung)
	secret := b.addWebhook()
	b.schedule("good", b.dir)
	b.bounds.template = 20 * time.Millisecond
	end, reads := make(chan struct{}), make(chan struct{}, 100)
	b.templates = func(workdir string) {
		if workdir == hung {
			reads <- struct{}{}
			<-end
		}
	}
	defer close(end)
	b.running()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			if _, err := b.RunNow(t.Context(), "hangs"); coleo.ErrorCode(err) != coleo.EUnavailable {
				t.Errorf("a run of the trigger with the hung folder: %v, want %s", err, coleo.EUnavailable)
			}
		}
		if _, err := b.RunNow(t.Context(), "good"); err != nil {
			t.Errorf("a run of another trigger: %v", err)
		}
		if _, err := b.Deliver(t.Context(), "w", b.signed(secret, "id", "")); err != nil {
			t.Errorf("a request to a webhook: %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("a trigger waits for the hung folder of another one")
	}
	if len(reads) != 1 {
		t.Errorf("the hung folder is read %d times at the same time, want once", len(reads))
	}
}

// The database refuses every history entry of the schedule "bad". The other schedules must still
// run.
func TestAScheduleThatCannotBeStoredDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	db, err := sqlite.Open(filepath.Join(b.dir, "serve.db"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func(db *sql.DB) {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}(db)
	if _, err := db.Exec(`CREATE TRIGGER refuse BEFORE INSERT ON trigger_history WHEN NEW.trigger_name = 'bad'
		BEGIN SELECT RAISE(ABORT, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bad", "good"} { // the runner handles them in this order
		if _, err := b.Add(t.Context(), wire.TriggerRequest{Name: name, Kind: trigger.Schedule, Template: "t",
			Workdir: b.dir, Cron: "* * * * *", Zone: "UTC"}); err != nil {
			t.Fatal(err)
		}
	}
	b.pass(time.Minute)
	if _, err := b.runDue(t.Context()); err == nil {
		t.Error("runDue = nil, want the refusal")
	}
	b.starting.Wait()
	b.tells("one is refused", "run started0 01 12:01")
}

func TestOnlySomeArmsStartAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	end := make(chan struct{})
	b.starts = func(context.Context, wire.SpawnRequest) (brain.OnceResult, error) {
		<-end
		return brain.OnceStarted, nil
	}
	for _, name := range []string{"one", "two", "three"} {
		b.schedule(name, b.dir)
		b.runNow(name, 2)
	}
	if _, err := b.runDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Runner.mu.Lock()
	busy := len(b.busy)
	b.Runner.mu.Unlock()
	close(end)
	b.starting.Wait()
	if busy != atOnce {
		t.Errorf("%d arms start at the same time, want %d", busy, atOnce)
	}
}

func TestTheNumbersOfTriggersAndOfTheirArmsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	add := func(name string, arms int) error {
		_, err := b.Add(t.Context(), wire.TriggerRequest{Name: name, Kind: trigger.Schedule, Template: "t", Workdir: b.dir,
			MaxArms: arms, Cron: "@yearly", Zone: "UTC"})
		return err
	}
	for _, arms := range []int{-1, trigger.MostArms + 1} {
		if err := add("n", arms); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("a trigger with %d arms: %v", arms, err)
		}
	}
	for i := range trigger.MostTriggers {
		if err := add(fmt.Sprint("n", i), trigger.MostArms); err != nil {
			t.Fatal(err)
		}
	}
	if err := add("n", 1); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("one more trigger: %v, want %s", err, coleo.EConflict)
	}
}
