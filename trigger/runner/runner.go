// Package runner carries out triggers inside serve. It starts an arm when a schedule is due, or
// when a genuine request to a webhook arrives. It stores the result of each start. Package trigger
// makes the decisions.
package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
	"coleo.dev/store"
	"coleo.dev/template"
	"coleo.dev/timelimit"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

const (
	// lookEvery is the longest time between two checks for runs that are due. Run checks the time
	// of day this often because timers stop while a machine is asleep.
	lookEvery = 15 * time.Second
	// retryEvery is the pause after an attempt to start an arm, if Run must repeat the attempt. For example, there was
	// no host agent.
	retryEvery = 2 * time.Second
	// maxDelay is the longest delay with which a start is ordered, even if the order is a repetition. A
	// later start would surprise the user.
	maxDelay = 10 * time.Minute
	// atOnce is the largest number of arms that start at the same time. With four, a slow arm delays only a few
	// others, and even a small machine can start all of them.
	atOnce = 4
	// shownDelay is how long Run waits after a database error before it tries again.
	shownDelay = 5 * time.Second
)

// bounds are time limits for what a Runner waits for. Only tests change them.
type bounds struct {
	// slow is the time after which a start no longer counts towards atOnce. A slow start waits for something, for
	// example for a set-up script or a host agent that hangs. Arms of other triggers can start meanwhile.
	slow time.Duration
	// start is the time limit for one attempt to start an arm. It is longer than the sum of the
	// brain's own time limits for the parts of a start.
	start time.Duration
	// template is the time limit for reading a template. A work folder on another machine may not
	// answer.
	template time.Duration
}

func defaultBounds() bounds {
	return bounds{slow: 30 * time.Second, start: timelimit.Worktree + 10*time.Minute, template: 10 * time.Second}
}

// Config is the configuration of a Runner.
type Config struct {
	DB *store.ServeDB
	On bool // whether triggers start arms
	// Start starts an arm at most once: see brain.Brain.StartOnce.
	Start func(context.Context, wire.SpawnRequest, brain.StartAttempt) (brain.OnceResult, error)
	// Template returns the template with the given name for a work folder. It returns an error if
	// the user does not trust the template.
	Template func(name, workdir string) (template.Template, error)
	// Secrets is the folder with the secrets of webhooks. Each secret has its own file.
	Secrets string
	Log     *slog.Logger
	Now     func() time.Time
}

// Runner carries out triggers. Create it with New, and call Run once. Several goroutines may call
// the other methods, even before Run.
type Runner struct {
	Config
	bounds bounds
	wake   chan struct{} // it wakes Run, and has a buffer of one, so that no wake is lost

	adding  sync.Mutex                // held from the count of live arms until the new run is stored
	buckets map[string]trigger.Bucket // the rate limits of webhooks, by id; guarded by the mutex `adding`

	mu       sync.Mutex
	busy     map[int64]bool            // the runs that a goroutine is carrying out
	tried    map[int64]int             // the number of attempts to start the arm of an open run
	unbegun  map[int64]string          // the runs that are stored as starting although no start has begun, with the reason
	slots    int                       // the number of running starts that count towards the limit atOnce
	startsOf map[string]int            // the number of running starts of each trigger, by name
	hung     map[templateKey]bool      // the templates whose last reading has not ended in time
	refusals map[refusal]trigger.Entry // the counts of refused requests that are not in the history yet
	starting sync.WaitGroup
}

// New returns a Runner.
func New(c Config) *Runner {
	return &Runner{Config: c, bounds: defaultBounds(), wake: make(chan struct{}, 1), busy: map[int64]bool{},
		tried: map[int64]int{}, unbegun: map[int64]string{}, startsOf: map[string]int{}, hung: map[templateKey]bool{},
		buckets: map[string]trigger.Bucket{}, refusals: map[refusal]trigger.Entry{}}
}

// Run carries out triggers until ctx ends. It begins with the runs that an earlier serve has left
// open.
func (r *Runner) Run(ctx context.Context) {
	defer r.writeRefused(context.WithoutCancel(ctx))
	defer r.starting.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.wake:
		}
		wait, err := r.runDue(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			r.Log.Warn("carry out the triggers: tried again soon", "error", err)
			wait = shownDelay
		}
		timer.Reset(wait)
	}
}

func (r *Runner) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default: // nothing is sent, because a wake is already waiting
	}
}

// runDue carries out everything that is due now. It returns how long to wait until something can be
// due again.
func (r *Runner) runDue(ctx context.Context) (time.Duration, error) {
	r.writeRefused(ctx)
	if !r.On {
		return lookEvery, r.giveUp(ctx)
	}
	wait := lookEvery
	list, err := r.List(ctx)
	if err != nil {
		return 0, err
	}
	var faults error
	for _, t := range list {
		if t.Kind != trigger.Schedule {
			continue
		}
		next, err := r.planNext(ctx, t)
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound { // ENotFound: the trigger was removed in the meantime
			faults = errors.Join(faults, err)
		}
		if !next.IsZero() {
			wait = min(wait, max(0, next.Sub(r.Now())))
		}
	}
	return wait, errors.Join(faults, r.startOpen(ctx))
}

// giveUp ends the runs that were accepted but not begun. runDue calls giveUp if triggers are off.
func (r *Runner) giveUp(ctx context.Context) error {
	open, err := r.DB.OpenTriggerRuns(ctx)
	if err != nil {
		return err
	}
	for _, e := range open {
		if e.State == trigger.RunAccepted {
			err = r.DB.SetTriggerRun(ctx, e.ID, e.State, trigger.RunFailed,
				"triggers were turned off before the arm was started")
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// planNext stores the run of a schedule that is due, and the times that the schedule has missed. It
// returns the next time of the schedule.
func (r *Runner) planNext(ctx context.Context, t trigger.Trigger) (time.Time, error) {
	times, err := trigger.ParseTimes(t.Cron, t.Zone)
	if err != nil { // for example, the time zone is no longer installed on the machine
		r.Log.Warn("carry out a schedule", "schedule", t.Name, "error", err)
		return time.Time{}, nil
	}
	r.adding.Lock()
	defer r.adding.Unlock()
	now := r.Now()
	p := trigger.PlanOf(times, t.Handled, now, t.CatchUp)
	if p.Run.IsZero() && p.Missed == 0 && !p.Handled.Before(t.Handled) {
		return times.Next(now), nil
	}
	var entries []trigger.Entry
	if p.Missed > 0 {
		entries = append(entries, trigger.Entry{Trigger: t.Name, Kind: trigger.EntryMissed, Time: now, Count: p.Missed,
			More: p.More, CatchUp: p.CatchUp, Why: "serve did not run at these times, or was late by more than two minutes"})
	}
	if !p.Run.IsZero() {
		e, err := r.newRun(ctx, t, nil)
		if err != nil {
			e.State, e.Why = trigger.RunFailed, err.Error()
		}
		e.Due, e.CatchUp, e.Once = p.Run, p.CatchUp, "schedule/"+t.ID+"/"+p.Run.UTC().Format(time.RFC3339)
		entries = append(entries, e)
	}
	_, err = r.DB.AddTriggerEntries(ctx, t, p.Handled, p.Missed, entries...)
	return times.Next(now), err
}

// startOpen begins to start the arms of open runs, several at the same time. It does not wait until they have
// started.
//
// Each start runs in its own goroutine, which can change the stored run after startOpen has read it. startOpen
// therefore notes which runs have a goroutine before it reads the runs, and leaves them out. When such a goroutine
// ends, it wakes the Runner again.
func (r *Runner) startOpen(ctx context.Context) error {
	r.mu.Lock()
	busy := maps.Clone(r.busy)
	r.mu.Unlock()
	open, err := r.DB.OpenTriggerRuns(ctx)
	if err != nil {
		return err
	}
	for _, e := range r.inTurn(open) {
		if busy[e.ID] {
			continue
		}
		if free := r.reserve(e); free != nil {
			r.starting.Go(func() { r.attemptStart(ctx, e, free) })
		}
	}
	return nil
}

// inTurn returns the open runs, sorted by the number of their attempts, and then by their age. So a
// run that cannot start does not keep a later run from its first attempt. inTurn also forgets the
// attempts of runs that are no longer open.
func (r *Runner) inTurn(open []trigger.Entry) []trigger.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	tried := make(map[int64]int, len(open))
	for _, e := range open {
		tried[e.ID] = r.tried[e.ID]
	}
	r.tried = tried
	slices.SortStableFunc(open, func(a, b trigger.Entry) int { return cmp.Compare(tried[a.ID], tried[b.ID]) })
	return open
}

// attemptStart makes one attempt to start the arm of a run. It calls `free` when the start has ended, or
// earlier, when the start no longer counts towards atOnce. If the run needs another attempt, attemptStart
// pauses, so that other runs can start first.
func (r *Runner) attemptStart(ctx context.Context, e trigger.Entry, free func()) {
	slow := time.AfterFunc(r.bounds.slow, free)
	limited, cancel := context.WithTimeout(ctx, r.bounds.start)
	again := r.start(limited, e)
	cancel()
	slow.Stop()
	r.mu.Lock()
	if r.startsOf[e.Trigger]--; r.startsOf[e.Trigger] == 0 {
		delete(r.startsOf, e.Trigger)
	}
	r.mu.Unlock()
	free()
	if again {
		pause(ctx, retryEvery)
	}
	r.mu.Lock()
	delete(r.busy, e.ID)
	r.mu.Unlock()
	r.wakeUp()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// reserve reserves a run for the caller, and one of the atOnce slots for starts. It returns a function that frees the
// slot. It returns nil if another goroutine has reserved the run, or if no slot is free. It also returns nil if too
// many arms of the run's trigger are starting.
func (r *Runner) reserve(e trigger.Entry) (free func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[e.ID] || r.slots >= atOnce || r.startsOf[e.Trigger] >= atOnce {
		return nil
	}
	r.busy[e.ID] = true
	r.tried[e.ID]++
	r.slots++
	r.startsOf[e.Trigger]++
	return sync.OnceFunc(func() {
		r.mu.Lock()
		r.slots--
		r.mu.Unlock()
		r.wakeUp()
	})
}

// start starts the arm of a run and stores the result. It reports whether the caller must call start again.
//
// Before start asks the brain to start the arm, it marks the run as starting. If serve is then killed, the next
// serve finds the mark, and tells the brain that its request is a repetition. Otherwise the brain could start the
// arm a second time after a user has removed it. An attempt that began nothing takes the mark back. If that cannot be
// stored, the field unbegun says so.
func (r *Runner) start(ctx context.Context, e trigger.Entry) (again bool) {
	set := func(from, to trigger.RunState, why string) {
		if !r.setState(ctx, e, from, to, why) {
			again = true
		}
	}
	r.mu.Lock()
	why, unbegun := r.unbegun[e.ID]
	r.mu.Unlock()
	if unbegun {
		if !r.takeMarkBack(ctx, e, why) {
			return true
		}
		e.State = trigger.RunAccepted
	}
	late := r.Now().Sub(e.Time) > maxDelay
	if late && e.State == trigger.RunAccepted {
		set(e.State, trigger.RunFailed, "the arm was not started within "+maxDelay.String()+": "+
			"serve or the host agent did not run")
		return again
	}
	var q wire.SpawnRequest
	if err := json.Unmarshal(e.Request, &q); err != nil {
		set(e.State, trigger.RunFailed, "the stored request cannot be read: "+err.Error())
		return again
	}
	if e.State == trigger.RunAccepted {
		// The template was read when the run was accepted. The user may have stopped trusting it since.
		switch _, err := r.usableTemplate(q.Template, q.Workdir); {
		case coleo.ErrorCode(err) == coleo.EUnavailable:
			return true
		case err != nil:
			set(e.State, trigger.RunFailed, err.Error())
			return again
		}
		if set(e.State, trigger.RunStarting, ""); again {
			return true
		}
	}
	result, err := r.Start(ctx, q, brain.StartAttempt{Arm: e.Arm, Run: e.Run, By: "trigger " + e.Trigger,
		Again: e.State == trigger.RunStarting, Late: late})
	switch result {
	case brain.OnceStarted:
		set(trigger.RunStarting, trigger.RunStarted, "")
	case brain.OnceRefused:
		set(trigger.RunStarting, trigger.RunFailed, err.Error())
	case brain.OnceLater:
		r.takeMarkBack(ctx, e, err.Error())
		return true
	case brain.OnceUnknown:
		r.Log.Warn("start the arm of a trigger: tried again", "trigger", e.Trigger, "arm", e.ArmName, "error", err)
		return true
	}
	return again
}

// setState changes the state of a run from oldState to newState. It reports whether the change is stored.
func (r *Runner) setState(ctx context.Context, e trigger.Entry, oldState, newState trigger.RunState, why string) bool {
	err := r.DB.SetTriggerRun(context.WithoutCancel(ctx), e.ID, oldState, newState, why)
	if err != nil {
		r.Log.Warn("store what became of a run of a trigger", "trigger", e.Trigger, "arm", e.ArmName, "error", err)
	}
	return err == nil
}

// takeMarkBack stores that a run waits, after an attempt that began nothing. `why` says for what it waits. If that
// cannot be stored, takeMarkBack returns false, and the next attempt must store it first.
func (r *Runner) takeMarkBack(ctx context.Context, e trigger.Entry, why string) bool {
	stored := r.setState(ctx, e, trigger.RunStarting, trigger.RunAccepted, why)
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.unbegun, e.ID); !stored {
		r.unbegun[e.ID] = why
	}
	return stored
}
