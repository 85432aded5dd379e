package brain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/modelresolver"
	"coleo.dev/wire"
)

// Modes returns the modes of an arm's agent CLI, and the mode that was seen last. It
// returns ENotFound if there is no such arm.
func (b *Brain) Modes(ctx context.Context, idOrName string) (wire.Modes, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.Modes{}, err
	}
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return wire.Modes{}, err
	}
	out := wire.Modes{Mode: arm.Mode, List: []coleo.Mode{}}
	if m, ok := h.(coleo.Moded); ok {
		out.List = append(out.List, m.Modes()...)
	}
	return out, nil
}

// SwitchMode switches an arm to another mode. It returns when the screen shows the mode.
// It returns ENotFound if there is no such arm or mode, EConflict if the present mode does
// not lead to it, and EInvalid if it must be allowed. Other errors come from the host agent.
func (b *Brain) SwitchMode(ctx context.Context, idOrName string, o coleo.ModeOrder) (coleo.ModeSwitch, error) {
	var report bus.ModeReport
	err := b.commanded(ctx, idOrName, bus.OpMode, promptTimeout, func(arm coleo.Arm) any {
		return bus.ModeOrder{Arm: arm.ID, ModeOrder: o}
	}, &report)
	if err != nil {
		return report.ModeSwitch, err
	}
	return report.ModeSwitch, b.keepChosen(ctx, idOrName, report.Chosen)
}

// SwitchModel gives an arm another model. If the agent CLI takes a model only at its start,
// SwitchModel ends it and resumes the conversation, but only if the order allows a restart
// and the arm is idle. Otherwise the next start takes the model.
func (b *Brain) SwitchModel(ctx context.Context, idOrName string, o coleo.ModelOrder) (coleo.ModelSwitch, error) {
	if o.Scope == "" {
		o.Scope = coleo.ScopeArm
	}
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return coleo.ModelSwitch{}, err
	}
	if err := b.mayRestart(arm, o); err != nil {
		return coleo.ModelSwitch{}, err
	}
	var report bus.ModelReport
	err = b.commanded(ctx, arm.ID, bus.OpModel, promptTimeout, func(arm coleo.Arm) any {
		return bus.ModelOrder{Arm: arm.ID, ModelOrder: o}
	}, &report)
	if err == nil {
		err = b.keepChosen(ctx, arm.ID, report.Chosen)
	}
	out := report.ModelSwitch
	if err != nil || !out.Pending || !o.Restart {
		return out, err
	}
	if _, err = b.Kill(ctx, arm.ID); err == nil {
		_, err = b.Recover(ctx, arm.ID, wire.RecoverRequest{})
	}
	if err != nil {
		return out, fmt.Errorf("the arm was ended to give it the model, and could not be started again: %w", err)
	}
	out.Pending, out.Restarted = false, true
	return out, nil
}

// mayRestart returns an error if an order allows a restart that would lose something.
func (b *Brain) mayRestart(arm coleo.Arm, o coleo.ModelOrder) error {
	if !o.Restart {
		return nil
	}
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return err
	}
	switch c := h.Info().Capabilities; {
	case !c.ModelFlag:
		return coleo.Errorf(coleo.EUnsupported, "the model of %s cannot be chosen at its start: nothing was done",
			h.Info().Title)
	case arm.SessionID != "" && !c.Resume:
		return coleo.Errorf(coleo.EUnsupported, "%s cannot resume a conversation, so a restart would lose it: nothing "+
			"was done", h.Info().Title)
	case arm.State != coleo.Idle:
		return coleo.Errorf(coleo.EBusy, "arm %s is %s, and is restarted only when it is idle: nothing was done",
			arm.Name, arm.State)
	}
	return nil
}

// keepChosen copies what a user has chosen into the arm's row. The host agent has it too,
// with a number that says which copy is newer.
func (b *Brain) keepChosen(ctx context.Context, idOrName string, chosen *coleo.Chosen) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil || chosen == nil {
		return err
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		var c coleo.SpawnConfig
		if len(row.Config) > 0 {
			if err := json.Unmarshal(row.Config, &c); err != nil {
				return fmt.Errorf("read the configuration of arm %s: %w", row.Name, err)
			}
		}
		c.Chosen = coleo.NewerChosen(chosen, c.Chosen)
		row.Config, err = json.Marshal(c)
		return err
	})
	return err
}

// forgetChosen takes back what a user has chosen earlier, as far as a request for a start
// says something else.
func forgetChosen(c *coleo.SpawnConfig, model, permission string) {
	if c.Chosen == nil || model == "" && permission == "" {
		return
	}
	c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) {
		if permission != "" {
			now.Mode = ""
		}
		if model != "" {
			now.Model = ""
			delete(now.Threads, c.Conversation)
			delete(now.Modes, now.Mode)
		}
	})
}

// Models returns the models of the catalogue and those that arms have, with the number of
// arms that have each, and where a user is logged in. A host that does not answer is left
// out.
func (b *Brain) Models(ctx context.Context) (wire.Models, error) {
	out := wire.Models{Models: []wire.Model{}, Logins: []coleo.Login{}}
	arms, err := b.Arms(ctx, true)
	if err != nil {
		return out, err
	}
	uses := map[wire.Model]int{}
	for _, arm := range arms {
		if arm.Model != "" {
			uses[wire.Model{Provider: arm.Provider, Model: arm.Model}]++
		}
	}
	catalog, err := b.catalog(ctx)
	if err != nil {
		out.Missing = err.Error()
	}
	for _, o := range modelresolver.AvailableByCost(catalog) {
		key := wire.Model{Provider: o.ProviderID, Model: o.ModelID}
		out.Models = append(out.Models, wire.Model{Provider: o.ProviderID, Model: o.ModelID, Name: o.ModelName,
			Connected: true, Uses: uses[key]})
		delete(uses, key)
	}
	for key, n := range uses {
		key.Uses = n
		out.Models = append(out.Models, key)
	}
	slices.SortStableFunc(out.Models, func(x, y wire.Model) int { return y.Uses - x.Uses })
	for _, beat := range b.live() {
		var logins []coleo.Login
		limited, cancel := context.WithTimeout(ctx, bus.DefaultTimeout)
		if b.Bus.Ask(limited, beat.ID, bus.OpLogins, nil, &logins) == nil {
			out.Logins = append(out.Logins, logins...)
		}
		cancel()
	}
	return out, nil
}

func (b *Brain) catalog(ctx context.Context) (modelresolver.Catalog, error) {
	raw, err := b.Providers(ctx)
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	return modelresolver.ParseCatalog(raw)
}
