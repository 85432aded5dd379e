package host

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// choosing is what the host agent knows about the mode that a user has ordered for an arm.
type choosing struct {
	// unconfirmed means that the session may not be in the ordered mode, because it has just been
	// started or attached to.
	unconfirmed bool
	// switching means that an order for a mode is being carried out. A change of the mode is then
	// part of that order.
	switching bool
	seen      coleo.Cursor  // the newest change that was noted
	moved     chan struct{} // closed and replaced when seen changes; nil if nobody waits
}

// switchMode switches an arm to another mode. It stores the order first. If this host agent is
// killed, the next host agent completes the order. Then switchMode takes these steps:
//
//   - It interrupts the turn, if the order says so.
//   - It stores the model of the present mode.
//   - It switches the mode.
//   - It sets the model of the new mode.
func (a *arm) switchMode(ctx context.Context, o bus.ModeOrder) (bus.ModeReport, error) {
	s, err := a.liveSession()
	if err != nil {
		return bus.ModeReport{}, err
	}
	if err := a.mayType(""); err != nil {
		return bus.ModeReport{}, err
	}
	m, err := a.allowedMode(s, o.ModeOrder)
	if err != nil {
		return bus.ModeReport{}, err
	}
	if o.Interrupt {
		if _, err := a.interrupt(ctx); err != nil {
			return bus.ModeReport{}, err
		}
	}
	if !m.Switchable {
		return a.instruct(ctx, m)
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	was := a.chosen()
	left := s.State().Mode
	if err := a.changeChosen(ctx, func(c *coleo.Chosen) { c.Mode = m.ID }); err != nil {
		return bus.ModeReport{}, err
	}
	done, err := a.pressMode(ctx, s, m.ID)
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		undo := a.changeChosen(ctx, func(c *coleo.Chosen) { c.Mode = modeOf(was) })
		if undo != nil {
			a.host.Log.Error("take back an order for a mode", "arm", a.name(), "error", undo)
		}
		return bus.ModeReport{ModeSwitch: done, Chosen: a.chosen()}, err
	}
	if left != "" && left != m.ID {
		a.takeModelOf(ctx, s, left, m, &done)
	}
	return bus.ModeReport{ModeSwitch: done, Chosen: a.chosen()}, nil
}

// allowedMode returns the mode of an order, or an error if the arm must not carry out the order.
func (a *arm) allowedMode(s coleo.Session, o coleo.ModeOrder) (coleo.Mode, error) {
	modal, ok := s.(coleo.Modal)
	if !ok {
		return coleo.Mode{}, coleo.Errorf(coleo.EUnsupported, "the harness of arm %s knows no modes", a.name())
	}
	list := modal.Modes()
	m, err := coleo.ModeByID(list, o.Mode, a.name())
	if err != nil {
		return m, err
	}
	return m, coleo.MayFollow(list, s.State().Mode, m, o.Allow)
}

// instruct stores the instructions of a mode for the next prompt, and records the mode in the log.
func (a *arm) instruct(ctx context.Context, m coleo.Mode) (bus.ModeReport, error) {
	from := ""
	err := a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		from = r.Trace.Mode
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) { c.Unsaid = m.Instructions })
		next, events := r.Trace.Choose(coleo.ModeChanged{To: m.ID}, a.host.Now().UTC())
		r.Trace = next
		return ofArm(r.ID, events)
	})
	if err != nil {
		return bus.ModeReport{}, err
	}
	a.fileOrLog()
	return bus.ModeReport{ModeSwitch: coleo.ModeSwitch{From: from, To: m.ID, Instructions: true}, Chosen: a.chosen()},
		nil
}

// pressMode makes the session switch to a mode, and waits until the change is in the log.
func (a *arm) pressMode(ctx context.Context, s coleo.Session, id string) (coleo.ModeSwitch, error) {
	a.mu.Lock()
	a.choosing.switching = true
	a.mu.Unlock()
	done, err := s.(coleo.Modal).SwitchMode(ctx, id)
	a.awaitNoted(s)
	a.mu.Lock()
	a.choosing.switching = false
	if err == nil {
		a.choosing.unconfirmed = false
	}
	a.mu.Unlock()
	return done, err
}

// notedTimeout is how long an order waits until the changes of a session are in the log. A write
// takes milliseconds. On a full disk, the write waits in memory.
const notedTimeout = 5 * time.Second

// awaitNoted waits until all changes that the session has now are in the log.
func (a *arm) awaitNoted(s coleo.Session) {
	newest := coleo.NewestCursor(s)
	limit := time.NewTimer(notedTimeout)
	defer limit.Stop()
	for {
		a.mu.Lock()
		if a.choosing.seen >= newest || a.session != s {
			a.mu.Unlock()
			return
		}
		if a.choosing.moved == nil {
			a.choosing.moved = make(chan struct{})
		}
		moved := a.choosing.moved
		a.mu.Unlock()
		select {
		case <-moved:
		case <-limit.C:
			return
		case <-a.host.ctx.Done():
			return
		}
	}
}

// noted records that a change of the session is in the log.
func (a *arm) noted(c coleo.Cursor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.choosing.seen = c; a.choosing.moved != nil {
		close(a.choosing.moved)
		a.choosing.moved = nil
	}
}

// noteMode records a mode that the screen shows. If the mode was changed without an order, noteMode
// drops the earlier order. So a later start does not undo the change.
func (a *arm) noteMode(ctx context.Context, c coleo.Change) error {
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		a.reading = c.Reading
		next, events := r.Trace.ShowMode(c.Reading.Mode, c.Time.UTC())
		r.Trace = next
		ordered := modeOf(r.Spec.Chosen)
		switch {
		case c.Reading.Mode == ordered:
			a.choosing.unconfirmed = false
		case ordered != "" && !a.choosing.unconfirmed && !a.choosing.switching:
			r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) { c.Mode = "" })
		}
		return ofArm(r.ID, events)
	})
}

// modeUnconfirmed reports whether a new session may not be in the ordered mode. It returns true
// after a start, and if a host agent was killed while it switched the mode. If the session has
// already been in the ordered mode, somebody else has chosen the present mode, and modeUnconfirmed
// returns false. The caller holds mu.
func (a *arm) modeUnconfirmed() bool {
	ordered := modeOf(a.record.Spec.Chosen)
	return ordered != "" && a.record.Trace.Shown != ordered
}

// settleMode switches a session that was just started or attached to. It switches the session to
// the mode that a user ordered earlier. It types nothing if the session is already in that mode, or
// if nobody has ordered a mode.
func (a *arm) settleMode(ctx context.Context, s coleo.Session) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.mu.Lock()
	unconfirmed, id := a.choosing.unconfirmed, modeOf(a.record.Spec.Chosen)
	a.mu.Unlock()
	if _, ok := s.(coleo.Modal); !ok || !unconfirmed || id == "" {
		return nil
	}
	_, err := a.pressMode(ctx, s, id)
	if code := coleo.ErrorCode(err); code == coleo.ENotFound || code == coleo.EUnsupported {
		a.host.Log.Warn("the harness has no longer the mode that was ordered", "arm", a.name(), "mode", id, "error", err)
		return a.changeChosen(ctx, func(c *coleo.Chosen) { c.Mode = "" })
	}
	return err
}

// restoreMode calls settleMode in the background when a session becomes idle for the first time. If
// this call fails, the next prompt calls settleMode again and reports the error.
func (a *arm) restoreMode(s coleo.Session) {
	a.mu.Lock()
	unconfirmed := a.choosing.unconfirmed && modeOf(a.record.Spec.Chosen) != ""
	a.mu.Unlock()
	if !unconfirmed || a.mayType("") != nil {
		return
	}
	a.host.runs.Go(func() {
		a.typing.RLock()
		defer a.typing.RUnlock()
		if err := a.settleMode(a.host.ctx, s); err != nil {
			a.host.Log.Warn("switch to the mode that was ordered before", "arm", a.name(), "error", err)
		}
	})
}

// withModeInstructions returns the text of a prompt. If a mode has instructions for the next
// prompt, they come before the text.
func (a *arm) withModeInstructions(text string) string {
	if c := a.chosen(); c != nil && c.Unsaid != "" {
		return c.Unsaid + "\n\n" + text
	}
	return text
}

// forgetInstructions forgets the instructions of a mode after they were sent with a prompt.
func (a *arm) forgetInstructions(ctx context.Context) {
	if c := a.chosen(); c == nil || c.Unsaid == "" {
		return
	}
	if err := a.changeChosen(context.WithoutCancel(ctx), func(c *coleo.Chosen) { c.Unsaid = "" }); err != nil {
		a.host.Log.Error("forget instructions that were sent", "arm", a.name(), "error", err)
	}
}

// asChosen returns the configuration for a start with the model and the mode that the user has
// chosen. If a permission mode starts the agent CLI in the chosen mode, asChosen sets this
// permission mode. Coleo then need not press a key. asChosen always keeps the permission mode
// "all". It also keeps the permission mode if the chosen mode must be allowed. Coleo then presses
// the key of the chosen mode.
func (a *arm) asChosen(h coleo.Harness, c coleo.SpawnConfig) coleo.SpawnConfig {
	c.Provider, c.Model = c.ModelOf()
	moded, ok := h.(coleo.Moded)
	if !ok || modeOf(c.Chosen) == "" || c.PermissionMode == coleo.PermissionAll {
		return c
	}
	m, err := coleo.ModeByID(moded.Modes(), c.Chosen.Mode, a.name())
	if err == nil && m.Permission != "" && !m.Confirm {
		c.PermissionMode = m.Permission
	}
	return c
}

// changeChosen stores a change of what the user has chosen.
func (a *arm) changeChosen(ctx context.Context, change func(*coleo.Chosen)) error {
	err := a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Spec.Chosen = r.Spec.Chosen.Change(change)
		return nil
	})
	if err == nil {
		a.fileOrLog()
	}
	return err
}

func (a *arm) chosen() *coleo.Chosen {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record.Spec.Chosen
}

func modeOf(c *coleo.Chosen) string {
	if c == nil {
		return ""
	}
	return c.Mode
}

// ofArm sets the arm of each given event.
func ofArm(id string, events []coleo.Event) []coleo.Event {
	for i := range events {
		events[i].Arm = id
	}
	return events
}

// switchModel gives an arm another model. If the agent CLI cannot change its model while it runs,
// switchModel stores the model for the next start. The report then says so.
func (a *arm) switchModel(ctx context.Context, o bus.ModelOrder) (bus.ModelReport, error) {
	if o.Scope == coleo.ScopeDefault {
		return a.setDefaultModel(ctx, o.Model)
	}
	s, err := a.liveSession()
	if err != nil {
		return bus.ModelReport{}, err
	}
	if err := a.mayType(""); err != nil {
		return bus.ModelReport{}, err
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	conversation := s.Handle().Conversation
	if o.Scope == coleo.ScopeThread && conversation == "" {
		return bus.ModelReport{}, coleo.Errorf(coleo.EConflict,
			"arm %s has no conversation yet: send a prompt first, or use --scope arm", a.name())
	}
	a.mu.Lock()
	out := coleo.ModelSwitch{From: a.runsModel(), To: o.Model}
	a.mu.Unlock()
	if out.From != o.Model {
		err = a.setModel(ctx, s, o.Model, o.InsteadOf)
		if coleo.ErrorCode(err) == coleo.EUnsupported {
			out.Pending, err = true, nil
		}
	}
	if err != nil {
		return bus.ModelReport{}, err
	}
	err = a.changeChosen(context.WithoutCancel(ctx), func(c *coleo.Chosen) {
		if o.Scope == coleo.ScopeThread {
			c.SetThread(conversation, o.Model)
			return
		}
		delete(c.Threads, conversation) // otherwise the conversation would keep its model
		mode := s.State().Mode
		if c.Model = o.Model; c.Modes[mode] != "" {
			c.SetMode(mode, o.Model)
		}
	})
	return bus.ModelReport{ModelSwitch: out, Chosen: a.chosen()}, err
}

// takeModelOf stores the present model with the old mode, and sets the model of the new mode. If
// the agent CLI takes a model only at its start, the result of the switch gets a warning.
func (a *arm) takeModelOf(ctx context.Context, s coleo.Session, left string, m coleo.Mode, done *coleo.ModeSwitch) {
	a.mu.Lock()
	now := a.runsModel()
	a.mu.Unlock()
	next := m.DefaultModel
	err := a.changeChosen(ctx, func(c *coleo.Chosen) {
		c.SetMode(left, now)
		if own := c.Modes[m.ID]; own != "" {
			next = own
		}
		if next != "" {
			c.SetMode(m.ID, next)
		}
	})
	if err == nil && next != "" && next != now {
		if err = a.setModel(ctx, s, next, nil); err == nil {
			done.Model = next
		}
	}
	if err != nil {
		done.Warning = "the model of the mode is " + next + ", and was not set: " + err.Error()
	}
}

// runsModel returns the model with which the agent CLI runs. The caller holds mu.
func (a *arm) runsModel() string { return coleo.ModelName(a.record.Provider, a.record.Model) }
