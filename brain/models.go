package brain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/modelresolver"
	"coleo.dev/timelimit"
	"coleo.dev/wire"
)

// Models returns the models of all harnesses, each with its price and the number of arms that use
// it. It also returns the agent CLIs to which the user is logged in. The models of a harness come
// from the catalogue, or from the harness's provider in the price book. Logins are missing for
// hosts that do not answer.
func (b *Brain) Models(ctx context.Context) (wire.Models, error) {
	out := wire.Models{Models: []wire.Model{}, Logins: []coleo.Login{}}
	arms, err := b.Arms(ctx, true)
	if err != nil {
		return out, err
	}
	list, missing := b.models.List(ctx, arms)
	out.Models, out.Missing = append(out.Models, list...), missing
	for _, beat := range b.roster.Live() {
		var logins []coleo.Login
		limited, cancel := context.WithTimeout(ctx, bus.DefaultTimeout)
		if b.Bus.Ask(limited, beat.ID, bus.OpLogins, nil, &logins) == nil {
			out.Logins = append(out.Logins, logins...)
		}
		cancel()
	}
	return out, nil
}

// tellChange writes into a reply that the arm gets another model than the requested one, and why. If `change` is nil,
// the arm gets the requested model.
func tellChange(reply *wire.SpawnReply, change *coleo.ModelFallback) {
	if reply.ModelChange = change; change != nil {
		reply.ModelFallback = change.Reason
	}
}

// SwitchModel gives an arm another model. If the model is not available, SwitchModel replaces it, as Spawn
// does.
//
// Some agent CLIs accept a model only at their start. If the order allows a restart and the arm is
// idle, SwitchModel restarts such an agent CLI and resumes the conversation. Otherwise the model
// takes effect at the next start. The restart continues even if ctx ends.
func (b *Brain) SwitchModel(ctx context.Context, idOrName string, o coleo.ModelOrder) (coleo.ModelSwitch, error) {
	o.Scope = cmp.Or(o.Scope, coleo.ScopeArm)
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return coleo.ModelSwitch{}, err
	}
	if o.Seen {
		return b.fallbackSeen(ctx, arm)
	}
	if err := b.mayRestart(arm, o); err != nil {
		return coleo.ModelSwitch{}, err
	}
	asked := o.Model
	change, err := b.resolveOrder(ctx, arm, &o)
	if err != nil {
		return coleo.ModelSwitch{}, err
	}
	report, err := b.orderModel(ctx, arm, o, change)
	if err == nil {
		err = b.keepChosenWith(ctx, arm.ID, report.Chosen, func(row *coleo.Arm, _, newest *coleo.Chosen) {
			if o.Scope != coleo.ScopeThread && hasModel(newest, o.Model) {
				row.DefaultModel, row.ModelFallback = asked, change
			}
		})
		b.PublishArm(ctx, arm.ID)
	}
	out := report.ModelSwitch
	out.Fallback = change
	if err != nil || !out.Pending || !o.Restart || o.Scope == coleo.ScopeDefault {
		return out, err
	}
	if err := b.atRest(ctx, arm); err != nil { // a turn may have begun since mayRestart
		return out, coleo.Errorf(coleo.ErrorCode(err), "the next start of arm %s takes the model %s; the arm was not "+
			"restarted now, because it may no longer be idle", arm.Name, o.Model)
	}
	ctx = context.WithoutCancel(ctx) // the arm must be started again even if the caller no longer waits
	if _, err = b.Kill(ctx, arm.ID); err == nil {
		_, err = b.Recover(ctx, arm.ID, wire.RecoverRequest{})
	}
	if err != nil {
		return out, fmt.Errorf("the arm was ended to give it the model, and could not be started again: %w", err)
	}
	out.Pending, out.Restarted = false, true
	return out, nil
}

// hasModel reports whether the newest coleo.Chosen of an arm still has the model of an order. If a later order has
// replaced it, and was the first to write the row, the row must keep the later model.
func hasModel(newest *coleo.Chosen, model string) bool { return newest == nil || newest.Model == model }

// resolveOrder replaces the model of an order if this model is not available. It returns the
// replacement, or nil if it has changed nothing.
func (b *Brain) resolveOrder(ctx context.Context, arm coleo.Arm, o *coleo.ModelOrder) (*coleo.ModelFallback, error) {
	c, err := arm.DecodeConfig()
	if err != nil {
		return nil, err
	}
	provider, model := coleo.SplitModel(o.Model)
	change, err := b.models.Available(ctx, arm.Harness, c, &provider, &model, o.Fallback)
	o.Model = coleo.ModelName(provider, model)
	return change, err
}

// orderModel sends an order for a model to the arm's host. It returns EUnsupported for an order for the next start
// if the host agent is too old for it.
func (b *Brain) orderModel(ctx context.Context, arm coleo.Arm, o coleo.ModelOrder,
	change *coleo.ModelFallback) (bus.ModelReport, error) {
	if o.Scope == coleo.ScopeDefault {
		if err := b.checkHostTakesDefaults(arm.AgentID); err != nil {
			return bus.ModelReport{}, err
		}
	}
	var report bus.ModelReport
	err := b.OrderAndCatchUp(ctx, arm.ID, bus.OpModel, timelimit.Typing, func(arm coleo.Arm) any {
		return bus.ModelOrder{Arm: arm.ID, ModelOrder: o, InsteadOf: change}
	}, &report)
	return report, err
}

// checkHostTakesDefaults returns EUnsupported if a host agent is too old to change only the model
// of the next start. An older host agent would change the model at once.
func (b *Brain) checkHostTakesDefaults(host string) error {
	if beat := b.roster.BeatOf(host); beat.PID != 0 && !beat.TakesDefault {
		return coleo.Errorf(coleo.EUnsupported, "nothing was done: the host agent %s has version %s, which cannot change "+
			"the model of the next start alone: run 'coleo down' and 'coleo up' to update it", host, beat.Version)
	}
	return nil
}

// fallbackSeen stores that a person has seen the notice that another model replaces the arm's model. It changes no
// model.
func (b *Brain) fallbackSeen(ctx context.Context, arm coleo.Arm) (coleo.ModelSwitch, error) {
	if arm.ModelFallback == nil {
		return coleo.ModelSwitch{}, coleo.Errorf(coleo.EConflict, "arm %s has the model that was asked for", arm.Name)
	}
	now, err := b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if row.ModelFallback != nil {
			row.ModelFallback.Seen = true
		}
		return nil
	})
	b.PublishArm(ctx, arm.ID)
	model := coleo.ModelName(now.Provider, now.Model)
	return coleo.ModelSwitch{From: model, To: model, Fallback: now.ModelFallback}, err
}

// mayRestart returns an error if an order allows a restart, but the restart cannot set the model or would lose
// the conversation. It also returns an error if the arm is not idle.
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
		return coleo.Errorf(coleo.EUnsupported, "%s cannot resume a conversation, "+
			"so a restart would lose it: nothing was done", h.Info().Title)
	case arm.State != coleo.Idle:
		return coleo.Errorf(coleo.EBusy, "arm %s is %s, and is restarted only when it is idle: nothing was done",
			arm.Name, arm.State)
	}
	return nil
}

// providersTimeout is how long the brain waits for the replies of hosts. A host needs this much
// time because it starts an agent CLI to get the catalogue.
const providersTimeout = 90 * time.Second

// askProviders fetches the catalogue of models from a host. If no host answers, askProviders
// returns the error of the last host that it asked, or EUnavailable if there is no host agent.
func (b *Brain) askProviders(ctx context.Context) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, providersTimeout)
	defer cancel()
	err := error(coleo.Errorf(coleo.EUnavailable, "no host agent runs: start one with 'coleo up'"))
	for _, beat := range b.roster.Live() {
		var raw json.RawMessage
		if err = b.Bus.Ask(ctx, beat.ID, bus.OpProviders, nil, &raw); err != nil {
			continue
		}
		var catalog modelresolver.Catalog
		if catalog, err = modelresolver.ParseCatalog(raw); err != nil {
			continue
		}
		return json.Marshal(catalog)
	}
	return nil, err
}
