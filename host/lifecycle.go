package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/store"
)

// spawn starts an arm, or the next generation of a stopped one.
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
	if err := a.start(ctx, harness, o); err != nil {
		return nil, err
	}
	return a.report(), nil
}

// enlist finds the arm of an order, or makes it.
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
		if name == o.Name && a.record.ID != o.ID {
			return nil, coleo.Errorf(coleo.EConflict, "another arm of this host is called %q", o.Name)
		}
	}
	if running >= h.MaxArms {
		return nil, coleo.Errorf(coleo.EConflict, "Agent at capacity (%d arms): stop one, or start the host agent with a larger --max-arms", h.MaxArms)
	}
	if a, ok := h.arms[o.ID]; ok {
		return a, nil
	}
	a := &arm{host: h, record: store.ArmRecord{
		ID: o.ID, Name: o.Name, Harness: o.Harness, Status: coleo.StatusStopped, State: coleo.Dead,
		Desired: coleo.DesiredStopped, CreatedAt: time.Now().UTC(),
	}}
	h.arms[o.ID] = a
	return a, nil
}

// start begins the arm's next generation. Nothing of the last one may be left.
func (a *arm) start(ctx context.Context, harness coleo.Harness, o bus.SpawnOrder) error {
	if _, err := a.live(); err == nil {
		return coleo.Errorf(coleo.EConflict, "Arm %s is already running on this agent", o.Name)
	}
	if err := a.clear(); err != nil {
		return err
	}
	if err := a.thin(); err != nil {
		return err
	}
	c := o.Config
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if r.Harness, r.Desired = o.Harness, coleo.DesiredRunning; r.Name != o.Name {
			r.Name = o.Name
		}
		r.Generation = max(r.Generation+1, o.Config.Generation) // it may have run elsewhere since
		c.Arm, c.Generation, c.Nonce, c.Dir = r.ID, r.Generation, rand.Text(), a.dir()
		c.Path, c.Environ, c.Keep = append(c.Path, a.host.Path...), a.host.Environ, a.host.Keep
		if c.Resume = o.Resume && c.Conversation != ""; !c.Resume {
			c.Conversation = ""
		}
		left := lose(r, coleo.Reading{State: coleo.Dead, Rule: "another generation", Known: true, Since: time.Now().UTC()})
		r.Spec, r.Workdir, r.Provider, r.Model = c, c.Workdir, c.Provider, c.Model
		r.Status, r.State, r.Handle, a.run = coleo.StatusStarting, coleo.Initializing, nil, nil
		return left
	})
	if err != nil {
		return err
	}
	s, err := harness.Spawn(ctx, c)
	if err != nil {
		a.failed(ctx)
		return err
	}
	a.keepHandle(ctx, s)
	if err := a.host.append(ctx, event(c.Arm, coleo.EventSpawned, s.Handle())); err != nil {
		return err
	}
	a.hold(s, harness)
	a.host.beat()
	return nil
}

// failed writes down that a start did not come about.
func (a *arm) failed(ctx context.Context) {
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Desired, r.Status, r.State = coleo.DesiredStopped, coleo.StatusStopped, coleo.Dead
		return nil
	})
	if err != nil {
		a.host.Log.Error("write down a failed start", "arm", a.record.Name, "error", err)
	}
}

// clear makes sure that nothing of the last generation is left: a holder that
// proves itself must be killed by an order, one that does not is left alone,
// and what a dead one left behind is swept.
func (a *arm) clear() error {
	a.mu.Lock()
	handle := a.record.Handle
	a.mu.Unlock()
	if handle == nil {
		return nil
	}
	proof, blocked := prove(*handle)
	if proof == bus.Silent {
		return coleo.Errorf(coleo.EConflict, "the last generation of arm %s still runs, but %s", a.record.Name, blocked)
	}
	if proof == bus.Proven && holder.Look(handle.Process) != holder.Dead {
		return coleo.Errorf(coleo.EConflict, "the last generation of arm %s still runs: recover or kill it", a.record.Name)
	}
	if left := holder.Sweep(a.record.ID); len(left) > 0 {
		return coleo.Errorf(coleo.EConflict, "processes %v of the last generation of arm %s could not be ended", left, a.record.Name)
	}
	return nil
}

// adopt takes up the session of an earlier host agent, on proof.
func (a *arm) adopt(ctx context.Context) error {
	defer a.begin()()
	if _, err := a.live(); err == nil {
		return nil
	}
	a.mu.Lock()
	handle, record := a.record.Handle, a.record
	a.mu.Unlock()
	if handle == nil {
		return coleo.Errorf(coleo.EExited, "arm %s has never run", record.Name)
	}
	harness, err := a.host.Registry.Get(record.Harness)
	if err != nil {
		return err
	}
	s, err := harness.Attach(ctx, *handle)
	if err != nil {
		return a.lost(ctx, *handle, err)
	}
	a.noteBlocked(ctx, "")
	a.mu.Lock()
	a.silent = false
	if a.run = nil; record.Run != nil {
		run := *record.Run
		run.Cursor = 0 // of another session object
		a.run = &run
	}
	a.mu.Unlock()
	if err := a.host.append(ctx, event(record.ID, coleo.EventReattached, *handle)); err != nil {
		return err
	}
	a.hold(s, harness)
	a.awaitReading(ctx, s)
	a.resolve(ctx, s)
	return nil
}

// adoptLate takes up a session whose holder answers now, and did not when it was
// to be taken up.
func (a *arm) adoptLate() {
	a.mu.Lock()
	silent := a.silent && a.record.Desired == coleo.DesiredRunning
	a.silent = false
	a.mu.Unlock()
	if !silent {
		return
	}
	a.host.runs.Go(func() {
		if err := a.adopt(a.host.ctx); err != nil {
			a.host.Log.Warn("take up arm", "arm", a.record.Name, "error", err)
		}
	})
}

// readingTimeout bounds how long an arm that is taken up may take until its
// screen is read: a settling time, but for one that still starts.
const readingTimeout = 2 * time.Second

// awaitReading returns when the session has been read, so that who hears that
// the arm is there again can use it.
func (a *arm) awaitReading(ctx context.Context, s coleo.Session) {
	ctx, cancel := context.WithTimeout(ctx, readingTimeout)
	defer cancel()
	_, _ = coleo.WaitFor(ctx, s, coleo.Idle, coleo.Processing, coleo.Executing, coleo.WaitingApproval, coleo.Failed, coleo.Dead)
}

// lost writes down that a session cannot be taken up. What is left of an arm
// whose holder has died is ended; what failed the proof is left alone; and one
// whose holder only does not answer is tried again with each beat.
func (a *arm) lost(ctx context.Context, handle coleo.Handle, cause error) error {
	reading := coleo.Reading{State: coleo.Dead, Rule: "holder gone", Since: time.Now().UTC(), Known: true, Detail: cause.Error()}
	switch coleo.ErrorCode(cause) {
	case coleo.EUnavailable:
		if left := holder.Sweep(handle.Arm); len(left) > 0 {
			reading.Rule, reading.Detail = coleo.RuleOrphaned, fmt.Sprintf("processes %v are left and could not be ended", left)
		}
		if rebooted(handle) && reading.Rule != coleo.RuleOrphaned {
			reading.Rule, reading.Detail = "reboot", "stopped (host rebooted)"
		}
	case coleo.EUnproven:
		reading.Rule = coleo.RuleUnproven
	case coleo.ETimeout:
		return errors.Join(cause, a.awaitAnswer(ctx, handle))
	default:
		return cause
	}
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		a.reading, a.run = reading, nil
		r.Status, r.State, r.Rule = coleo.StatusStopped, coleo.Dead, reading.Rule
		return append(lose(r, reading), event(r.ID, coleo.EventStopped, reading))
	})
	if err != nil {
		return err
	}
	return cause
}

// awaitAnswer writes down that an arm has a holder that does not answer yet: how
// it is nobody knows.
func (a *arm) awaitAnswer(ctx context.Context, handle coleo.Handle) error {
	now := time.Now().UTC()
	reading := coleo.Reading{State: coleo.Initializing, Rule: "holder silent", Since: now}
	a.noteBlocked(ctx, silence(handle))
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		a.reading, a.silent = reading, true
		r.Status, r.State, r.Rule = coleo.StatusStarting, reading.State, reading.Rule
		return []coleo.Event{event(r.ID, coleo.EventState, coleo.Change{Time: now, Kind: coleo.ChangeState, Reading: reading, From: a.record.State})}
	})
}

// rebooted tells whether the machine has started anew since the handle was
// made.
func rebooted(h coleo.Handle) bool {
	me, err := holder.Identify(1)
	return err == nil && me.BootID != "" && me.BootID != h.Holder.BootID
}

// kill ends the arm's whole process tree and returns when it is gone.
func (a *arm) kill(ctx context.Context) error {
	defer a.begin()()
	var record store.ArmRecord
	var s coleo.Session
	var dead chan struct{}
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Desired = coleo.DesiredStopped
		record, s, dead = *r, a.session, a.dead
		return nil
	})
	if err != nil {
		return err
	}
	if record.Handle != nil && holder.Look(record.Handle.Holder) == holder.Stopped {
		holder.Wake(record.Handle.Holder) // it is who ends the arm
	}
	if s == nil {
		return a.killUnheld(ctx, record)
	}
	if err := s.Kill(ctx); err != nil {
		_ = a.host.append(ctx, event(record.ID, coleo.EventOrphaned, coleo.Note{Text: err.Error()}))
		return err
	}
	select {
	case <-dead:
	case <-ctx.Done():
		return ctx.Err()
	}
	return awaitHolder(ctx, s.Handle().Holder)
}

// awaitHolder returns when a holder whose program has ended has ended too.
func awaitHolder(ctx context.Context, id coleo.Identity) error {
	const look = 5 * time.Millisecond
	for holder.Look(id) != holder.Dead {
		select {
		case <-ctx.Done():
			return coleo.Errorf(coleo.ETimeout, "the agent CLI has ended; its holder (process %d) has not", id.PID)
		case <-time.After(look):
		}
	}
	return nil
}

// killUnheld ends an arm whose session this host agent does not hold.
func (a *arm) killUnheld(ctx context.Context, record store.ArmRecord) error {
	if record.Handle == nil {
		return nil
	}
	proof, blocked := prove(*record.Handle)
	switch proof {
	case bus.Silent:
		return coleo.Errorf(coleo.ETimeout, "end arm %s: %s", record.Name, blocked)
	case bus.Unproven:
		return coleo.Errorf(coleo.EUnproven, "what runs in the folder of arm %s is not the arm's: it is left alone", record.Name)
	case bus.Proven:
		client, err := holder.Dial(record.Handle.Dir, record.Handle.Nonce)
		if err != nil {
			return err
		}
		defer client.Close()
		if err := client.End(record.ID, killGrace); err != nil {
			return err
		}
	case bus.Gone:
		if left := holder.Sweep(record.ID); len(left) > 0 {
			return coleo.Errorf(coleo.EInternal, "end arm %s: processes %v are left", record.Name, left)
		}
	}
	reading := coleo.Reading{State: coleo.Dead, Rule: "killed", Known: true, Since: time.Now().UTC()}
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		a.run, r.Status, r.State = nil, coleo.StatusStopped, coleo.Dead
		return append(lose(r, reading), event(r.ID, coleo.EventStopped, reading))
	})
}

// killGrace is between hang-up and KILL for an arm that nobody holds.
const killGrace = 2 * time.Second

// remove forgets a stopped arm and deletes its journal.
func (h *Host) remove(ctx context.Context, a *arm) (any, error) {
	defer a.begin()()
	if _, err := a.live(); err == nil {
		return nil, coleo.Errorf(coleo.EConflict, "arm %s is running: kill it first", a.record.Name)
	}
	if err := a.clear(); err != nil {
		return nil, err
	}
	if err := a.removeFiles(); err != nil {
		return nil, err
	}
	if err := h.DB.DeleteArm(ctx, a.record.ID); err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
		return nil, err
	}
	h.mu.Lock()
	delete(h.arms, a.record.ID)
	h.mu.Unlock()
	return nil, h.append(ctx, event(a.record.ID, coleo.EventRemoved, struct{}{}))
}
