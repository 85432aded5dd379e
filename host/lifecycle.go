package host

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/armname"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
	"coleo.dev/subarm"
)

// spawn starts an arm, or the next generation of a stopped arm.
func (h *Host) spawn(ctx context.Context, o bus.SpawnOrder) (any, error) {
	if err := armname.Check(o.Name); err != nil {
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
	defer h.startEnded(o.ID)
	done, err := a.beginHere()
	if err != nil {
		return nil, err
	}
	defer done()
	if o.Request != "" && a.carriedOut(o) {
		return a.report(), nil // the order was carried out before, when an earlier serve had sent it
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

// enlist returns the arm that the order names. If this host does not know the arm, enlist creates
// it. The arm counts as running until the caller calls startEnded.
func (h *Host) enlist(o bus.SpawnOrder) (*arm, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	running := 0
	for _, a := range h.arms {
		a.mu.Lock()
		name, live := a.record.Name, a.session != nil
		a.mu.Unlock()
		if live || h.starts[a.record.ID] > 0 && a.record.ID != o.ID {
			running++
		}
		if name == o.Name && a.record.ID != o.ID && !h.isDisowned(a.record.ID) {
			return nil, coleo.Errorf(coleo.EConflict, "another arm of this host is called %q", o.Name)
		}
	}
	if again := o.Request != "" && h.arms[o.ID] != nil; h.MaxArms > 0 && running >= h.MaxArms && !again {
		return nil, coleo.Errorf(coleo.EConflict,
			"Agent at capacity (%d arms): stop one, or set a larger max_arms in config.toml and restart Coleo "+
				"('coleo down', 'coleo up')", h.MaxArms)
	}
	h.starts[o.ID]++
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

// startEnded records that an order to start an arm has been carried out or has failed.
func (h *Host) startEnded(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.starts[id]--; h.starts[id] <= 0 {
		delete(h.starts, id)
	}
}

// carriedOut reports whether the same order has arrived before and has started the arm's session.
// If the agent CLI has ended before it received the order's first prompt, carriedOut returns false.
func (a *arm) carriedOut(o bus.SpawnOrder) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &a.record
	died := r.Status == coleo.StatusStopped && r.Desired == coleo.DesiredRunning
	return r.Handle != nil && (!died || o.First == nil || !isQueued(r, o.First.ID))
}

// isQueued reports whether the prompt with the given id is in the queue of a record.
func isQueued(r *store.ArmRecord, id string) bool {
	return slices.ContainsFunc(armrecord.Queue(r).Entries, func(e coleo.Queued) bool { return e.ID == id })
}

// delist removes an arm that enlist created for a start, if the arm was never started. It leaves the arm
// alone if another order is about to start it.
func (h *Host) delist(a *arm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.arms[a.record.ID] == a && a.recordNow().Generation == 0 && h.starts[a.record.ID] <= 1 {
		delete(h.arms, a.record.ID)
	}
}

// start starts the next generation of the arm. It refuses to do so if a process of an earlier
// generation still runs. The caller must have the lock on the arm's folder.
func (a *arm) start(ctx context.Context, harness coleo.Harness, o bus.SpawnOrder) error {
	// If another host has started later generations, the number in the order is the higher one.
	next := max(a.newest()+1, o.Config.Generation)
	if err := a.clearBeforeStart(o, next); err != nil {
		return err
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
	if err := a.startWith(ctx, harness, c, o, next); err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// clearBeforeStart checks that the next generation can start. It ends processes with the mark of an
// earlier generation, and deletes old output. It returns an error if the arm already runs.
func (a *arm) clearBeforeStart(o bus.SpawnOrder, next int) error {
	if _, err := a.liveSession(); err == nil {
		return coleo.Errorf(coleo.EConflict, "Arm %s is already running on this agent", o.Name)
	}
	if err := a.host.withinParent(o); err != nil {
		return err
	}
	if err := a.checkVacant(); err != nil {
		return err
	}
	// No process can have the mark of a new id, so the first start skips this search.
	if first := o.NewID && next == 1; !first {
		if err := a.host.processMarks.clearBeforeStart(o.ID, a.name(), next); err != nil {
			return err
		}
	}
	last := a.recordNow().Handle
	if last == nil {
		return nil
	}
	return a.folder().Thin(*last, a.host.Keep, a.name())
}

// startWith stores the intended start of the next generation with the configuration c, and starts
// its agent CLI.
func (a *arm) startWith(ctx context.Context, harness coleo.Harness, c coleo.SpawnConfig, o bus.SpawnOrder,
	next int) error {
	newest := a.newest()
	err := a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Harness, r.Desired = o.Harness, coleo.DesiredRunning
		// The arm can have been renamed after serve made the order. But if the number in the order is higher, another
		// host may have started and renamed the arm since.
		if r.Generation == 0 || r.Name == r.ID || next > newest+1 {
			r.Name = o.Name
		}
		r.Generation = next
		c.Chosen, r.Trace.Shown = coleo.NewerChosen(c.Chosen, r.Spec.Chosen), ""
		c.Arm, c.Generation, c.Nonce, c.Dir = r.ID, r.Generation, rand.Text(), a.folder().Start(r.Generation)
		c.Path, c.Environ, c.Keep = append(c.Path, a.host.Path...), a.host.Environ, a.host.Keep
		c.AllowSudo = a.host.AllowSudo
		if c.Resume = o.Resume && c.Conversation != ""; !c.Resume {
			c.Conversation = ""
			a.meter.ForgetContext()
		}
		left := armrecord.EndAllRuns(r, coleo.Reading{State: coleo.Dead, Rule: "another generation", Known: true,
			Since: time.Now().UTC()})
		if !c.Resume && o.First == nil {
			left = append(left, armrecord.PauseAnew(r)...)
		}
		left = append(left, queueFirst(r, o)...)
		if next == 1 {
			left = append(left, chosenAtFirst(r.ID, r.Name, c.Chosen)...)
		}
		r.Spec, r.Workdir = c, c.Workdir
		r.Provider, r.Model = c.ModelOf()
		r.Status, r.State, r.Rule, r.Handle, a.run = coleo.StatusStarting, coleo.Initializing, "", nil, nil
		a.reading = coleo.Reading{State: r.State, Since: time.Now().UTC()}
		return left
	})
	if err != nil {
		return err
	}
	// With this file, a host agent finds the start even if the database is lost.
	if err := a.keepFile(); err != nil {
		a.failSpawn(ctx, c, err)
		return err
	}
	if c.Resume {
		a.meter.RecallContext(ctx)
	}
	return a.launch(ctx, harness, c, o.InsteadOf)
}

// chosenAtFirst returns the events for the labels and the budget of an arm's first start. They are
// logged before the agent CLI starts, so that the log has them even if the start fails.
func chosenAtFirst(id, name string, chosen *coleo.Chosen) (events []coleo.Event) {
	if chosen == nil {
		return nil
	}
	if len(chosen.Labels) > 0 {
		events = append(events, armrecord.Event(id, coleo.EventLabels, coleo.Labelled{Labels: chosen.Labels}))
	}
	if chosen.Budget != nil {
		events = append(events, budgetSet(id, name, *chosen.Budget, 0))
	}
	return events
}

// launch starts the agent CLI of a generation that is already in the database. If launch cannot
// write the new handle into the database, it ends the agent CLI, because no host agent would follow
// it. If this start uses another model than the requested one, `insteadOf` describes both models.
// Otherwise `insteadOf` is nil.
func (a *arm) launch(ctx context.Context, harness coleo.Harness, c coleo.SpawnConfig,
	insteadOf *coleo.ModelFallback) error {
	s, err := a.spawn(ctx, harness, c)
	if err != nil {
		a.failSpawn(ctx, c, err)
		return err
	}
	handle := s.Handle()
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Handle, r.Spec.Conversation = &handle, handle.Conversation
		// The handle says how this start enforces the limits of the sandbox. Store that.
		if r.Spec.Sandbox.On() && handle.Sandbox.On() {
			r.Spec.Sandbox = handle.Sandbox
		}
		events := []coleo.Event{armrecord.Event(r.ID, coleo.EventSpawned, handle)}
		if insteadOf != nil {
			events = append(events, armrecord.Event(r.ID, coleo.EventModel, coleo.ModelChanged{From: insteadOf.Asked.Model,
				To: coleo.ModelName(r.Provider, r.Model), Ordered: true, Fallback: insteadOf}))
		}
		return events
	})
	if err != nil {
		err = errors.Join(err, s.Kill(context.WithoutCancel(ctx)), s.Close())
		a.failSpawn(ctx, c, err)
		return err
	}
	a.fileOrLog()
	a.holdSession(s, harness)
	a.host.beatOf(a)
	return nil
}

// spawn starts the agent CLI with its model, its tools and its window.
func (a *arm) spawn(ctx context.Context, harness coleo.Harness, c coleo.SpawnConfig) (coleo.Session, error) {
	c, err := a.withModel(a.choices.AsChosen(harness, c))
	if err != nil {
		return nil, err
	}
	if c, err = a.withTools(c); err != nil {
		return nil, err
	}
	a.keepFiles(changes.AtStart, "")
	return harness.Spawn(ctx, a.withWindow(harness, c))
}

// withinParent returns an error if an order would start a subarm whose folder is no longer within
// the folder of its parent. It does not check other orders. An order of a trigger, for example, has
// a request but no parent.
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
