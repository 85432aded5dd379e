package choosing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// SwitchModel gives an arm another model. If the agent CLI cannot change its model while it runs,
// SwitchModel stores the model for the next start, and the report says so.
func (ch *Chooser) SwitchModel(ctx context.Context, o bus.ModelOrder) (bus.ModelReport, error) {
	if o.Scope == coleo.ScopeDefault {
		return ch.setDefaultModel(ctx, o.Model)
	}
	s, err := ch.Session()
	if err != nil {
		return bus.ModelReport{}, err
	}
	end, err := ch.BeginTyping("")
	if err != nil {
		return bus.ModelReport{}, err
	}
	defer end()
	ch.changing.Lock()
	defer ch.changing.Unlock()
	conversation := s.Handle().Conversation
	if o.Scope == coleo.ScopeThread && conversation == "" {
		return bus.ModelReport{}, coleo.Errorf(coleo.EConflict,
			"arm %s has no conversation yet: send a prompt first, or use --scope arm", ch.Record().Name)
	}
	out := coleo.ModelSwitch{From: ModelOf(ch.Record()), To: o.Model}
	if out.From != o.Model {
		err = ch.setModel(ctx, s, o.Model, o.InsteadOf)
		if coleo.ErrorCode(err) == coleo.EUnsupported {
			out.Pending, err = true, nil
		}
	}
	if err != nil {
		return bus.ModelReport{}, err
	}
	record := ch.chosenNow // the function that records the choice: the agent CLI has the model now
	if out.Pending {
		record = ch.choose
	}
	err = record(context.WithoutCancel(ctx), func(c *coleo.Chosen) {
		if o.Scope == coleo.ScopeThread {
			c.SetThread(conversation, o.Model)
			return
		}
		setOwnModel(c, conversation, s.State().Mode, o.Model)
	})
	return bus.ModelReport{ModelSwitch: out, Chosen: ch.Chosen()}, err
}

// setOwnModel sets the model of an arm. Without its other changes, the arm would keep the model that was
// chosen for the given conversation or mode.
func setOwnModel(c *coleo.Chosen, conversation, mode, model string) {
	delete(c.Threads, conversation)
	if c.Model = model; c.Modes[mode] != "" {
		c.SetMode(mode, model)
	}
}

// ChooseForStart stores the model with which an arm that does not run starts next. It returns the errors of
// Config.Intend.
func (ch *Chooser) ChooseForStart(ctx context.Context, model string) (bus.ModelReport, error) {
	ch.changing.Lock()
	defer ch.changing.Unlock()
	r := ch.Record()
	err := ch.choose(ctx, func(c *coleo.Chosen) { setOwnModel(c, r.Spec.Conversation, c.Mode, model) })
	return bus.ModelReport{ModelSwitch: coleo.ModelSwitch{From: ModelOf(r), To: model, Pending: true},
		Chosen: ch.Chosen()}, err
}

// takeModelOf stores the present model as the model of the old mode, and sets the model of the new
// mode. If the agent CLI takes a model only when it starts, takeModelOf adds a warning to the
// result of the switch.
func (ch *Chooser) takeModelOf(ctx context.Context, s coleo.Session, left string, m coleo.Mode,
	done *coleo.ModeSwitch) {
	now := ModelOf(ch.Record())
	next := m.DefaultModel
	err := ch.chosenNow(ctx, func(c *coleo.Chosen) { // chosenNow, because the mode has already changed
		c.SetMode(left, now)
		if own := c.Modes[m.ID]; own != "" {
			next = own
		}
		if next != "" {
			c.SetMode(m.ID, next)
		}
	})
	if err == nil && next != "" && next != now {
		if err = ch.setModel(ctx, s, next, nil); err == nil {
			done.Model = next
		}
	}
	if err != nil {
		done.Warning = "the model of the mode is " + next + ", and was not set: " + err.Error()
	}
}

// ModelOf returns the model with which an arm's agent CLI runs.
func ModelOf(r store.ArmRecord) string { return coleo.ModelName(r.Provider, r.Model) }

// setDefaultModel stores the model of the arm's next start. A running agent CLI keeps its model.
func (ch *Chooser) setDefaultModel(ctx context.Context, model string) (bus.ModelReport, error) {
	ch.changing.Lock()
	defer ch.changing.Unlock()
	from := ModelOf(ch.Record())
	err := ch.choose(ctx, func(c *coleo.Chosen) {
		c.Model = model
		delete(c.Modes, c.Mode) // without this, the model that was chosen for this mode would win
	})
	return bus.ModelReport{ModelSwitch: coleo.ModelSwitch{From: from, To: model, Pending: true}, Chosen: ch.Chosen()}, err
}

// setModel changes the model of the running agent CLI, and records the change.
func (ch *Chooser) setModel(ctx context.Context, s coleo.Session, model string, insteadOf *coleo.ModelFallback) error {
	setter, ok := s.(coleo.ModelSetter)
	if !ok {
		return coleo.Errorf(coleo.EUnsupported, "the harness of arm %s cannot change the model of a running agent CLI",
			ch.Record().Name)
	}
	if err := setter.SetModel(ctx, model); err != nil {
		return err
	}
	return ch.tellModel(context.WithoutCancel(ctx), model, insteadOf)
}

// tellModel records the model that the agent CLI now uses. If it is another model than before,
// tellModel appends an event.
func (ch *Chooser) tellModel(ctx context.Context, model string, insteadOf *coleo.ModelFallback) error {
	return ch.Change(ctx, func(r *store.ArmRecord) []coleo.Event {
		was := ModelOf(*r)
		if r.Provider, r.Model = coleo.SplitModel(model); was == model {
			return nil
		}
		return Record(r, coleo.ModelChanged{From: was, To: model, Ordered: true, Fallback: insteadOf}, ch.Now())
	})
}

// Record stores in the arm's record that an order has changed the mode or the model, and returns
// the events.
func Record(r *store.ArmRecord, change coleo.Work, now time.Time) []coleo.Event {
	next, events := r.Trace.Choose(change, now.UTC())
	r.Trace = next
	return ofArm(r.ID, events)
}

// ofArm sets the arm of each given event.
func ofArm(id string, events []coleo.Event) []coleo.Event {
	for i := range events {
		events[i].Arm = id
	}
	return events
}
