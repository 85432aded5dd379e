package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
	"coleo.dev/store"
	"coleo.dev/template"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// bench is a Runner with a real database, a fake clock and a fake start of arms.
type bench struct {
	*Runner
	t   *testing.T
	dir string

	mu       sync.Mutex
	now      time.Time
	template template.Template
	distrust error // the error of reading the template
	result   brain.OnceResult
	fault    error
	orders   []brain.StartAttempt
	requests []wire.SpawnRequest

	// If `starts` is set, it returns the result of each start in place of the fields `result` and
	// `fault`.
	starts    func(ctx context.Context, q wire.SpawnRequest) (brain.OnceResult, error)
	templates func(workdir string) // is called before a template is read
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), now: time.Date(2026, 5, 1, 12, 0, 30, 0, time.UTC), result: brain.OnceStarted}
	b.template = template.Template{Harness: "h", Sandbox: coleo.SandboxBwrap, Prompt: "do {{what}}",
		Args: map[string]template.Arg{"what": {Default: new(string)}}}
	b.open(true)
	t.Cleanup(func() { b.DB.Close() })
	return b
}

// open opens the database like a new serve.
func (b *bench) open(on bool) {
	b.t.Helper()
	db, err := store.OpenServe(filepath.Join(b.dir, "serve.db"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.Runner = New(Config{DB: db, On: on, Start: b.start, Log: slog.New(slog.DiscardHandler), Now: b.time,
		Template: func(_, workdir string) (template.Template, error) {
			if b.templates != nil {
				b.templates(workdir)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.template, b.distrust
		}})
}

func (b *bench) time() time.Time { b.mu.Lock(); defer b.mu.Unlock(); return b.now }

func (b *bench) pass(d time.Duration) { b.mu.Lock(); defer b.mu.Unlock(); b.now = b.now.Add(d) }

func (b *bench) start(ctx context.Context, q wire.SpawnRequest, o brain.StartAttempt) (brain.OnceResult, error) {
	b.mu.Lock()
	b.orders, b.requests = append(b.orders, o), append(b.requests, q)
	result, fault := b.result, b.fault
	b.mu.Unlock()
	if b.starts != nil {
		return b.starts(ctx, q)
	}
	return result, fault
}

// `does` starts everything that is due, and waits until all starts have ended.
func (b *bench) does() {
	b.t.Helper()
	if _, err := b.runDue(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.starting.Wait()
}

func (b *bench) add(q wire.TriggerRequest) {
	b.t.Helper()
	q.Name, q.Kind, q.Template, q.Workdir = "n", trigger.Schedule, "t", b.dir
	if _, err := b.Add(b.t.Context(), q); err != nil {
		b.t.Fatal(err)
	}
}

// told returns a short form of the history, oldest entry first.
func (b *bench) told() []string {
	b.t.Helper()
	list, err := b.History(b.t.Context(), "", 0, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, e := range slices.Backward(list) {
		word := fmt.Sprint(e.Kind, " ", e.State, e.Count)
		if !e.Due.IsZero() {
			word += " " + e.Due.UTC().Format("02 15:04")
		}
		if e.CatchUp {
			word += " catch up"
		}
		out = append(out, word)
	}
	return out
}

func (b *bench) tells(when string, want ...string) {
	b.t.Helper()
	if got := b.told(); !slices.Equal(got, want) {
		b.t.Errorf("%s: the history is %q, want %q", when, got, want)
	}
}

func TestAScheduleRunsOnTimeAndIsMissedWhileServeIsStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(wire.TriggerRequest{Cron: "0 * * * *", Zone: "UTC", CatchUp: true, Args: map[string]string{"what": "it"}})
	b.does()
	b.tells("before the first time")
	b.pass(59*time.Minute + 31*time.Second)
	b.does()
	b.does()
	b.tells("on time", "run started0 01 13:00")
	if q := b.requests[0]; q.InitialPrompt != "do it" || q.Labels["trigger"] != "n" || !q.Sandbox.On() ||
		q.Workdir != b.dir || !strings.HasPrefix(q.Name, "n-") || b.orders[0].Again {
		t.Errorf("the request is %+v, the order %+v", q, b.orders[0])
	}
	b.DB.Close()
	b.pass(5 * time.Hour)
	b.pass(10 * time.Minute)
	b.open(true)
	b.does()
	b.tells("after a stop", "run started0 01 13:00", "missed 5 catch up", "run started0 01 18:00 catch up")
	list, err := b.List(t.Context())
	if err != nil || list[0].Missed != 5 || !list[0].Next.Equal(time.Date(2026, 5, 1, 19, 0, 0, 0, time.UTC)) {
		t.Errorf("the list is %+v, %v", list, err)
	}
	b.pass(-3 * time.Hour) // the clock was wrong
	b.does()
	b.pass(3 * time.Hour)
	b.does()
	if orders := len(b.orders); orders != 2 {
		t.Errorf("after the clock was set back there are %d orders, want 2", orders)
	}
}

// The request of a run must contain the worktree that its template describes. An arm in a sandbox
// gets a clone of the repository instead.
func TestARunAsksForTheWorktreeOfItsTemplate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.template.Worktree, b.template.Base = true, "main"
	b.add(wire.TriggerRequest{Cron: "* * * * *", Zone: "UTC"})
	b.pass(time.Minute)
	b.does()
	b.tells("on time", "run started0 01 12:01")
	if q := b.requests[0]; q.Worktree == nil || q.Worktree.Base != "main" || !q.Sandbox.On() {
		t.Errorf("the request is %+v", q)
	}
}

func TestARunIsOrderedOnceWhateverEndsServe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		result brain.OnceResult
		pass   time.Duration
		again  bool   // whether the next serve marks its start as a repeated one
		want   string // the state after the next serve
	}{
		{"nobody has answered", brain.OnceUnknown, time.Second, true, "run started0"},
		{"no host agent", brain.OnceLater, time.Second, false, "run started0"},
		{"no host agent for long", brain.OnceLater, maxDelay + time.Second, false, "run failed0"},
		{"nobody has answered for long", brain.OnceUnknown, maxDelay + time.Second, true, "run started0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.add(wire.TriggerRequest{Cron: "@yearly", Zone: "UTC"})
			if _, err := b.RunNow(t.Context(), "n"); err != nil {
				t.Fatal(err)
			}
			b.result, b.fault = c.result, errors.New("fault")
			b.does()
			b.DB.Close()
			b.open(true)
			b.result, b.fault = brain.OnceStarted, nil
			b.pass(c.pass)
			b.does()
			b.tells("after the next serve", c.want)
			if last := b.orders[len(b.orders)-1]; len(b.orders) == 2 && (last.Again != c.again || last.Arm != b.orders[0].Arm ||
				last.Run != b.orders[0].Run) {
				t.Errorf("the orders are %+v", b.orders)
			}
			b.does()
			if len(b.orders) > 2 {
				t.Errorf("there are %d orders", len(b.orders))
			}
		})
	}
}

func TestARefusedStartIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(wire.TriggerRequest{Cron: "* * * * *", Zone: "UTC", MaxArms: 1})
	b.result, b.fault = brain.OnceRefused, coleo.Errorf(coleo.ENotInstalled, "not installed")
	b.pass(time.Minute)
	b.does()
	b.pass(time.Minute)
	b.mu.Lock()
	b.template.Sandbox = coleo.SandboxNone
	b.mu.Unlock()
	b.does()
	b.tells("two faults", "run failed0 01 12:01", "run failed0 01 12:02")
	list, err := b.History(t.Context(), "n", 0, 0)
	if err != nil || list[1].Why != "not installed" || !strings.Contains(list[0].Why, "has no sandbox") {
		t.Errorf("the history is %+v, %v", list, err)
	}
}

// A run can wait ten minutes for a host agent. Meanwhile the user can stop trusting its template.
func TestARunThatWaitsStartsOnlyWhatIsStillTrusted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench){
		"not trusted any more": func(b *bench) { b.distrust = coleo.Errorf(coleo.EForbidden, "not trusted") },
		"no sandbox any more":  func(b *bench) { b.template.Sandbox = coleo.SandboxNone },
	} {
		b := newBench(t)
		b.add(wire.TriggerRequest{Cron: "* * * * *", Zone: "UTC"})
		b.result, b.fault = brain.OnceLater, errors.New("no host agent")
		b.pass(time.Minute)
		b.does()
		b.tells("without a host agent", "run accepted0 01 12:01")
		change(b)
		b.result, b.fault = brain.OnceStarted, nil
		b.does()
		if b.tells(name, "run failed0 01 12:01"); len(b.orders) != 1 {
			t.Errorf("%s: the orders are %+v", name, b.orders)
		}
	}
}

// The user removes a trigger while Coleo finds out that no host agent can start the arm.
func TestARunOfARemovedTriggerDoesNotStartLater(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(wire.TriggerRequest{Cron: "* * * * *", Zone: "UTC"})
	b.starts = func(ctx context.Context, _ wire.SpawnRequest) (brain.OnceResult, error) {
		if err := b.Remove(ctx, "n"); err != nil {
			t.Error(err)
		}
		return brain.OnceLater, errors.New("no host agent")
	}
	b.pass(time.Minute)
	b.does()
	b.starts = nil
	b.does()
	if b.tells("after the removal", "run failed0 01 12:01"); len(b.orders) != 1 {
		t.Errorf("the orders are %+v", b.orders)
	}
}

func TestOffMeansThatNothingStarts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(wire.TriggerRequest{Cron: "* * * * *", Zone: "UTC"})
	if _, err := b.RunNow(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	b.DB.Close()
	b.open(false)
	b.pass(time.Hour)
	b.does()
	if len(b.orders) > 0 {
		t.Errorf("the orders are %+v", b.orders)
	}
	b.tells("off", "run failed0")
	b.DB.Close()
	b.open(true)
	b.does()
	b.tells("on again", "run failed0", "missed 59", "run started0 01 13:00")
}

func TestTheNumberOfLiveArmsIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(wire.TriggerRequest{Cron: "@yearly", Zone: "UTC", MaxArms: 3})
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if _, err := b.RunNow(t.Context(), "n"); err != nil && coleo.ErrorCode(err) != coleo.EConflict {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.tells("twelve at once", "run accepted0", "run accepted0", "run accepted0")
}
