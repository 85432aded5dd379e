package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/holder/process"
	"coleo.dev/store"
	"coleo.dev/subarm"
)

// spawn starts an arm, or the next generation of a stopped arm.
func (h *Host) spawn(ctx context.Context, o bus.SpawnOrder) (any, error) {
	if err := coleo.CheckName(o.Name); err != nil {
		return nil, err
	}
	harness, err := h.Registry.Get(o.Harness)
	if err != nil {
		return nil, err
	}
	a, err := h.enlist(o)
	if err != nil {
		return nil, err
	}
	defer a.begin()()
	if o.Request != "" && a.carriedOut(o) {
		return a.report(), nil // an earlier serve has sent the same order
	}
	if err := a.driving.Take(a.folder(), a.name()); err != nil {
		h.delist(a)
		return nil, err
	}
	if err := a.start(ctx, harness, o); err != nil {
		return nil, err
	}
	return a.report(), nil
}

// enlist returns the arm that the order names. If this host does not know the arm,
// enlist creates it.
func (h *Host) enlist(o bus.SpawnOrder) (*arm, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	running := 0
	for _, a := range h.arms {
		a.mu.Lock()
		name, live := a.record.Name, a.session != nil
		a.mu.Unlock()
		if live {
			running++
		}
		if name == o.Name && a.record.ID != o.ID && !h.disowned(a.record.ID) {
			return nil, coleo.Errorf(coleo.EConflict, "another arm of this host is called %q", o.Name)
		}
	}
	if again := o.Request != "" && h.arms[o.ID] != nil; running >= h.MaxArms && !again {
		return nil, coleo.Errorf(coleo.EConflict,
			"Agent at capacity (%d arms): stop one, or set a larger max_arms in config.toml and restart Coleo "+
				"('coleo down', 'coleo up')", h.MaxArms)
	}
	if a, ok := h.arms[o.ID]; ok {
		return a, nil
	}
	a := h.newArm(store.ArmRecord{
		ID: o.ID, Name: o.Name, Harness: o.Harness, Status: coleo.StatusStopped, State: coleo.Dead,
		Desired: coleo.DesiredStopped, CreatedAt: time.Now().UTC(),
	})
	h.arms[o.ID] = a
	return a, nil
}

// carriedOut reports whether an earlier order has already started the arm of a request and its
// session. If the agent CLI died before it got the first prompt, carriedOut returns false.
func (a *arm) carriedOut(o bus.SpawnOrder) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &a.record
	died := r.Status == coleo.StatusStopped && r.Desired == coleo.DesiredRunning
	return r.Handle != nil && (!died || o.First == nil || !isQueued(r, o.First.ID))
}

// isQueued reports whether the prompt with the given id is in the queue of a record.
func isQueued(r *store.ArmRecord, id string) bool {
	return slices.ContainsFunc(queueOf(r).Entries, func(e coleo.Queued) bool { return e.ID == id })
}

// delist forgets an arm that enlist created for a start, if the arm was never started.
func (h *Host) delist(a *arm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.recordNow().Generation == 0 {
		delete(h.arms, a.record.ID)
	}
}

// start starts the next generation of the arm. It refuses to do so if a process of an earlier
// generation still runs. The caller must have the lock on the arm's folder.
func (a *arm) start(ctx context.Context, harness coleo.Harness, o bus.SpawnOrder) error {
	if _, err := a.liveSession(); err == nil {
		return coleo.Errorf(coleo.EConflict, "Arm %s is already running on this agent", o.Name)
	}
	if err := a.host.withinParent(o); err != nil {
		return err
	}
	next := max(a.newest()+1, o.Config.Generation) // another host may have started later generations
	if err := a.checkVacant(); err != nil {
		return err
	}
	// The id was made for this order, so no process can have the arm's mark.
	if first := o.NewID && next == 1; !first {
		if err := a.host.processMarks.makeWay(o.ID, a.name(), next); err != nil {
			return err
		}
	}
	if last := a.recordNow().Handle; last != nil {
		if err := a.folder().Thin(*last, a.host.Keep, a.name()); err != nil {
			return err
		}
	}
	c := o.Config
	if o.Resume && c.Conversation != "" {
		free, err := a.host.takeThread(c.Conversation, o.ID)
		if err != nil {
			return err
		}
		defer free()
	}
	if err := a.worktree().Take(ctx, &c, o.Name); err != nil {
		return err
	}
	given, err := a.host.envOf(o)
	if err != nil {
		return err
	}
	undo, err := a.folder().TakeGiven(&c, o.Script, given, a.name())
	if err != nil {
		return err
	}
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Harness, r.Desired = o.Harness, coleo.DesiredRunning
		r.Name, r.Generation = o.Name, next
		c.Chosen, r.Trace.Shown = coleo.NewerChosen(c.Chosen, r.Spec.Chosen), ""
		c.Arm, c.Generation, c.Nonce, c.Dir = r.ID, r.Generation, rand.Text(), a.folder().Start(r.Generation)
		c.Path, c.Environ, c.Keep = append(c.Path, a.host.Path...), a.host.Environ, a.host.Keep
		c.AllowSudo = a.host.AllowSudo
		if c.Resume = o.Resume && c.Conversation != ""; !c.Resume {
			c.Conversation = ""
			a.meter.ForgetContext()
		}
		left := endAllRuns(r, coleo.Reading{State: coleo.Dead, Rule: "another generation", Known: true,
			Since: time.Now().UTC()})
		if !c.Resume && o.First == nil {
			left = append(left, pauseAnew(r)...)
		}
		left = append(left, queueFirst(r, o)...)
		r.Spec, r.Workdir = c, c.Workdir
		r.Provider, r.Model = c.ModelOf()
		r.Status, r.State, r.Rule, r.Handle, a.run = coleo.StatusStarting, coleo.Initializing, "", nil, nil
		a.reading = coleo.Reading{State: r.State, Since: time.Now().UTC()}
		return left
	})
	if err == nil {
		err = a.keepFile() // so that a host agent can find this start even if the database is lost
	}
	if err == nil {
		err = a.launch(ctx, harness, c, o.InsteadOf)
	}
	if err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// launch starts the agent CLI of a generation that is already in the database. If it cannot write
// the new handle into the database, it ends the agent CLI, because nobody would follow it. The
// parameter insteadOf is the field InsteadOf of the order.
func (a *arm) launch(ctx context.Context, harness coleo.Harness, c coleo.SpawnConfig,
	insteadOf *coleo.ModelFallback) error {
	made, err := a.withModel(a.choices.AsChosen(harness, c))
	if err == nil {
		made, err = a.withTools(made)
	}
	var s coleo.Session
	if err == nil {
		a.keepFiles(changes.AtStart, "")
		s, err = harness.Spawn(ctx, a.withWindow(harness, made))
	}
	if err != nil {
		a.failed(ctx, c, err)
		return err
	}
	handle := s.Handle()
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Handle, r.Spec.Conversation = &handle, handle.Conversation
		if r.Spec.Sandbox.On() && handle.Sandbox.On() { // the start has found out what keeps its limits
			r.Spec.Sandbox = handle.Sandbox
		}
		events := []coleo.Event{event(r.ID, coleo.EventSpawned, handle)}
		if chosen := r.Spec.Chosen; r.Generation == 1 && chosen != nil && len(chosen.Labels) > 0 {
			events = append(events, event(r.ID, coleo.EventLabels, coleo.Labelled{Labels: chosen.Labels}))
		}
		if chosen := r.Spec.Chosen; r.Generation == 1 && chosen != nil && chosen.Budget != nil {
			events = append(events, budgetSet(r.ID, r.Name, *chosen.Budget, 0))
		}
		if insteadOf != nil {
			events = append(events, event(r.ID, coleo.EventModel, coleo.ModelChanged{From: insteadOf.Asked.Model,
				To: coleo.ModelName(r.Provider, r.Model), Ordered: true, Fallback: insteadOf}))
		}
		return events
	})
	if err != nil {
		err = errors.Join(err, s.Kill(context.WithoutCancel(ctx)), s.Close())
		a.failed(ctx, c, err)
		return err
	}
	a.fileOrLog()
	a.holdSession(s, harness)
	a.host.beatOf(a)
	return nil
}

// withinParent checks an order for a subarm. It returns an error if the subarm's folder is no
// longer within the folder of its parent. An arm that a trigger starts has a request and no parent.
func (h *Host) withinParent(o bus.SpawnOrder) error {
	if o.Request == "" || o.Config.Parent == "" {
		return nil
	}
	parent, err := h.arm(o.Config.Parent)
	if err != nil {
		return err
	}
	return subarm.Within(parent.recordNow().Spec.Workdir, o.Config.Workdir)
}

// adopt attaches to a session that an earlier host agent started. The holder of the
// session must prove its identity.
func (a *arm) adopt(ctx context.Context) error {
	defer a.begin()()
	if _, err := a.liveSession(); err == nil {
		return nil
	}
	a.mu.Lock()
	handle, record := a.record.Handle, a.record
	a.mu.Unlock()
	if handle == nil {
		return coleo.Errorf(coleo.EExited, "arm %s has never run", record.Name)
	}
	if err := a.lockOwnFolder(); err != nil {
		return err
	}
	harness, err := a.host.Registry.Get(record.Harness)
	if err != nil {
		return err
	}
	asleep := process.Look(handle.Holder) == process.Stopped
	a.mu.Lock()
	a.asleep = asleep
	a.mu.Unlock()
	if asleep { // the holder cannot reply, so do not wait for a reply
		return a.noteUnattached(ctx, *handle, coleo.Errorf(coleo.ETimeout, "%s", silenceReason(*handle)))
	}
	a.openDoorAgain()
	s, err := harness.Attach(ctx, *handle)
	if err != nil {
		return a.noteUnattached(ctx, *handle, err)
	}
	a.noteBlocked(ctx, "")
	a.mu.Lock()
	a.silent = false
	if a.run = nil; record.Run != nil {
		run := *record.Run
		run.Cursor = 0 // the old cursor belongs to the list of another session object
		a.run = &run
	}
	a.mu.Unlock()
	if err := a.host.append(ctx, event(record.ID, coleo.EventReattached, *handle)); err != nil {
		return errors.Join(err, s.Close())
	}
	a.fileOrLog()
	a.meter.RecallContext(ctx)
	a.holdSession(s, harness)
	a.showMissing(s)
	awaitReading(ctx, s)
	a.resolve(ctx, s, record.Intended)
	return nil
}

// adoptSilent attaches to sessions whose holders were stopped by a signal and now run again. Each
// beat asks the other silent holders.
func (h *Host) adoptSilent() {
	for _, a := range h.allArms() {
		a.mu.Lock()
		handle, woken := a.record.Handle, a.silent && a.asleep
		a.mu.Unlock()
		if woken && handle != nil && process.Look(handle.Holder) == process.Alive {
			a.adoptLate()
		}
	}
}

// adoptLate attaches to a session whose holder did not reply before but now replies.
func (a *arm) adoptLate() {
	a.mu.Lock()
	silent := a.silent && a.record.Desired == coleo.DesiredRunning
	a.silent = false
	a.mu.Unlock()
	if !silent {
		return
	}
	a.host.runs.Go(a.adoptOrLog)
}

// adoptOrLog is like adopt, but logs an error instead of returning it.
func (a *arm) adoptOrLog() {
	if err := a.adopt(a.host.ctx); err != nil {
		a.host.Log.Warn("reattach to an arm", "arm", a.name(), "error", err)
	}
}

// readingTimeout is how long an attach waits for the first reading. It is long enough for a screen
// to become stable. It is too short for an agent CLI that is still starting.
const readingTimeout = 2 * time.Second

// awaitReading waits until the session's screen has been read. A caller who sees that the arm is
// attached can then use the arm at once.
func awaitReading(ctx context.Context, s coleo.Session) {
	ctx, cancel := context.WithTimeout(ctx, readingTimeout)
	defer cancel()
	_, _ = coleo.WaitFor(ctx, s, coleo.Idle, coleo.Processing, coleo.Executing, coleo.WaitingApproval, coleo.Failed,
		coleo.Dead)
}

// noteUnattached records that the host agent cannot attach to a session. What it does next depends
// on the reason:
//   - If the holder is dead, noteUnattached ends the remaining processes of the arm.
//   - If the holder exists but does not reply, the host agent tries again at each
//     beat.
//   - If the holder could not prove its identity, noteUnattached leaves the arm alone.
func (a *arm) noteUnattached(ctx context.Context, handle coleo.Handle, cause error) error {
	reading := coleo.Reading{State: coleo.Dead, Rule: coleo.RuleHolderGone, Since: time.Now().UTC(), Known: true,
		Detail: cause.Error()}
	switch coleo.ErrorCode(cause) {
	case coleo.EUnavailable:
		if left := sweepStart(handle.Arm, handle.Nonce); len(left) > 0 {
			reading.Rule, reading.Detail = coleo.RuleOrphaned,
				fmt.Sprintf("processes %v are left and could not be ended", left)
		}
		if rebooted(handle) && reading.Rule != coleo.RuleOrphaned {
			reading.Rule, reading.Detail = coleo.RuleReboot, "stopped (host rebooted)"
		}
	case coleo.EUnproven:
		reading.Rule = coleo.RuleUnproven
	case coleo.ETimeout:
		return errors.Join(cause, a.awaitAnswer(ctx, handle))
	default:
		return cause
	}
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if before := r.Rule; endedBefore(r, reading) {
			reading.Rule, reading.Detail = before, ""
		}
		a.reading, a.run = reading, nil
		r.Status, r.State, r.Rule = coleo.StatusStopped, coleo.Dead, reading.Rule
		return append(endAllRuns(r, reading), event(r.ID, coleo.EventStopped, reading))
	})
	if err != nil {
		return err
	}
	return cause
}

// awaitAnswer records that the holder of the arm does not reply yet, so that the state
// of the arm is unknown.
func (a *arm) awaitAnswer(ctx context.Context, handle coleo.Handle) error {
	now := time.Now().UTC()
	reading := coleo.Reading{State: coleo.Initializing, Rule: "holder silent", Since: now}
	a.noteBlocked(ctx, silenceReason(handle))
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		from := r.State
		a.reading, a.silent = reading, true
		r.Status, r.State, r.Rule = coleo.StatusStarting, reading.State, reading.Rule
		return []coleo.Event{event(r.ID, coleo.EventState,
			coleo.Change{Time: now, Kind: coleo.ChangeState, Reading: reading, From: from})}
	})
}
