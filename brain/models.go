package brain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/modelresolver"
	"coleo.dev/pricebook"
	"coleo.dev/wire"
)

// catalog returns the model catalogue, including all prices that the price book adds.
func (b *Brain) catalog(ctx context.Context) (modelresolver.Catalog, error) {
	raw, err := b.Providers(ctx)
	if err != nil {
		return modelresolver.Catalog{}, err
	}
	c, err := modelresolver.ParseCatalog(raw)
	return b.prices().Fill(c), err
}

// prices returns the price book.
func (b *Brain) prices() *pricebook.Book {
	if b.Prices == nil {
		return pricebook.New(nil, pricebook.BuiltIn())
	}
	return b.Prices()
}

// Models returns the models of all harnesses, each with its price and the number of arms that have
// it. It also returns to which agent CLIs the user is logged in. The models of a harness come from
// the catalogue, or from the harness's provider in the price book. The logins of hosts that do not
// answer are missing.
func (b *Brain) Models(ctx context.Context) (wire.Models, error) {
	out := wire.Models{Models: []wire.Model{}, Logins: []coleo.Login{}}
	arms, err := b.Arms(ctx, true)
	if err != nil {
		return out, err
	}
	catalog, err := b.catalog(ctx)
	if err != nil {
		out.Missing = err.Error()
	}
	l := modelList{at: map[string]int{}}
	b.listModels(&l, catalog)
	for _, arm := range arms {
		if arm.Model != "" {
			m := l.model(arm.Provider, arm.Model)
			m.Uses++
			if p, ok := b.prices().Find(arm.Provider, arm.Model); ok && m.Price == nil {
				m.Price = &p
			}
		}
	}
	slices.SortStableFunc(l.models, func(x, y wire.Model) int { return y.Uses - x.Uses })
	out.Models = append(out.Models, l.models...)
	for _, beat := range b.liveHosts() {
		var logins []coleo.Login
		limited, cancel := context.WithTimeout(ctx, bus.DefaultTimeout)
		if b.Bus.Ask(limited, beat.ID, bus.OpLogins, nil, &logins) == nil {
			out.Logins = append(out.Logins, logins...)
		}
		cancel()
	}
	return out, nil
}

// modelList collects models. It contains each model once.
type modelList struct {
	models []wire.Model
	at     map[string]int // by PROVIDER/MODEL
}

func (l *modelList) model(provider, model string) *wire.Model {
	name := coleo.ModelName(provider, model)
	at, ok := l.at[name]
	if !ok {
		at = len(l.models)
		l.at[name] = at
		l.models = append(l.models, wire.Model{Provider: provider, Model: model})
	}
	return &l.models[at]
}

// listModels adds the models of all harnesses to a list. The models of the catalogue come first.
func (b *Brain) listModels(l *modelList, catalog modelresolver.Catalog) {
	var ofCatalog []string
	for _, name := range b.Registry.List() {
		if h, err := b.Registry.Get(name); err == nil && h.Info().Catalog {
			ofCatalog = append(ofCatalog, name)
		}
	}
	for _, o := range modelresolver.AvailableByCost(catalog) {
		m := l.model(o.ProviderID, o.ModelID)
		m.Name, m.Connected, m.Harnesses = o.ModelName, true, slices.Clone(ofCatalog)
		if o.Source != coleo.PriceUnknown {
			m.Price = b.priceOf(o)
		}
	}
	for _, name := range b.Registry.List() {
		h, err := b.Registry.Get(name)
		if err != nil || h.Info().ModelProvider == "" {
			continue
		}
		for _, priced := range b.prices().Of(h.Info().ModelProvider) {
			provider, model := coleo.SplitModel(priced.Model)
			if start.KnownModel(h.Info(), provider, model) != nil {
				continue
			}
			m := l.model(provider, model)
			m.Harnesses = append(m.Harnesses, name)
			m.Price = cmp.Or(m.Price, priced.Price)
		}
	}
}

// priceOf returns the price of an offer. If the price book contains the prices of cached tokens,
// priceOf takes them from there.
func (b *Brain) priceOf(o modelresolver.Offer) *coleo.Price {
	p, ok := b.prices().Find(o.ProviderID, o.ModelID)
	if ok && p.Input == o.Cost.Input && p.Output == o.Cost.Output {
		if p.Source != o.Source {
			p.Source, p.Date = o.Source, ""
		}
		return &p
	}
	rates := coleo.Rates{Input: o.Cost.Input, Output: o.Cost.Output, CacheRead: o.Cost.Input, CacheWrite: o.Cost.Input}
	return &coleo.Price{Rates: rates, Source: o.Source}
}

// resolve replaces the model in the configuration if this model is not available and the strategy
// allows another model. It changes nothing for a harness without a list of models, for a model
// server of the user's own, and for the scripted model. If there is no catalogue, it keeps the
// model and does not check it.
//
// If keepsModel is true, the request names no model, and the arm keeps its model. If this model is
// a replacement, resolve tries the originally requested model again.
//
// resolve returns nil if the arm gets the model that was asked for. It returns ENotFound if the
// strategy allows no model, and EInvalid if the agent CLI has no such model.
func (b *Brain) resolve(ctx context.Context, arm *coleo.Arm, c *coleo.SpawnConfig, keepsModel bool,
	strategy coleo.FallbackStrategy) (*coleo.ModelFallback, error) {
	ownProvider, own := c.ModelOf()
	provider, model, was := ownProvider, own, arm.ModelFallback
	if keepsModel && was != nil && was.Used.Model == coleo.ModelName(provider, model) {
		provider, model = coleo.SplitModel(was.Asked.Model)
		strategy = cmp.Or(strategy, was.Strategy)
	}
	change, err := b.available(ctx, arm.Harness, *c, &provider, &model, strategy)
	if err != nil {
		return nil, err
	}
	if provider != ownProvider || model != own {
		start.ForgetChosen(c, model, "")
		c.Provider, c.Model, arm.Provider, arm.Model = provider, model, provider, model
	}
	if change != nil && keepsModel && was != nil && change.Used.Model == was.Used.Model {
		change.Time, change.Seen = was.Time, was.Seen // nothing new
	}
	arm.ModelFallback = change
	return change, nil
}

// available replaces a model that is not available, in the same way as resolve. It uses the
// configuration only to find out which model server the arm uses.
func (b *Brain) available(ctx context.Context, harness string, c coleo.SpawnConfig, provider, model *string,
	strategy coleo.FallbackStrategy) (*coleo.ModelFallback, error) {
	h, err := b.Registry.Get(harness)
	if err != nil {
		return nil, err
	}
	if !strategy.Valid() {
		return nil, coleo.Errorf(coleo.EInvalid, "the fallback strategy %q is none of any, same-price, cheaper and none; "+
			"nothing was done", strategy)
	}
	c.Provider, c.Model = *provider, *model
	if c.Endpoint != "" || c.Scripted() || *model == "" {
		return nil, nil
	}
	if !h.Info().Catalog {
		return nil, start.KnownModel(h.Info(), *provider, *model)
	}
	catalog, err := b.catalog(ctx)
	if coleo.ErrorCode(err) == coleo.EInvalid {
		return nil, coleo.Errorf(coleo.EInvalid, "nothing was done: %w; mend the configuration of the agent CLI, or "+
			"leave out the model", err)
	}
	if err != nil {
		b.Log.Warn("the requested model is used unchecked: no catalogue", "model", *model, "error", err)
		return nil, nil
	}
	wish := modelresolver.Wish{Provider: *provider, Model: *model, Strategy: cmp.Or(strategy, b.Defaults.Fallback)}
	if p, ok := b.prices().Find(*provider, *model); ok {
		wish.Cost = &modelresolver.Cost{Input: p.Input, Output: p.Output}
	}
	choice, err := modelresolver.Choose(catalog, wish)
	if err != nil {
		return nil, err
	}
	*provider, *model = choice.ProviderID, choice.ModelID
	if !choice.Fallback {
		return nil, nil
	}
	b.Log.Info("another model than the requested one", "harness", harness, "reason", choice.Reason,
		"asked", choice.Asked, "used", choice.Used)
	return &coleo.ModelFallback{Asked: choice.Asked, Used: choice.Used, Reason: choice.Reason,
		Strategy: cmp.Or(wish.Strategy, coleo.FallbackAny), Time: b.Now().UTC()}, nil
}

// tellChange writes into a reply which model was asked for, if the arm gets another model.
func tellChange(reply *wire.SpawnReply, change *coleo.ModelFallback) {
	if reply.ModelChange = change; change != nil {
		reply.ModelFallback = change.Reason
	}
}

// SwitchModel gives an arm another model. Some agent CLIs take a model only at their start. If the
// order allows a restart and the arm is idle, SwitchModel restarts such an agent CLI and resumes
// the conversation. Otherwise the model takes effect at the next start. If the model is not
// available, SwitchModel replaces it in the same way as a start.
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
		err = b.keepChosen(ctx, arm.ID, report.Chosen)
	}
	if err == nil && o.Scope != coleo.ScopeThread {
		_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
			row.DefaultModel, row.ModelFallback = asked, change
			return nil
		})
		b.PublishArm(ctx, arm.ID)
	}
	out := report.ModelSwitch
	out.Fallback = change
	if err != nil || !out.Pending || !o.Restart || o.Scope == coleo.ScopeDefault {
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

// resolveOrder replaces the model of an order if this model is not available.
func (b *Brain) resolveOrder(ctx context.Context, arm coleo.Arm, o *coleo.ModelOrder) (*coleo.ModelFallback, error) {
	c, err := start.Stored(arm)
	if err != nil {
		return nil, err
	}
	provider, model := coleo.SplitModel(o.Model)
	change, err := b.available(ctx, arm.Harness, c, &provider, &model, o.Fallback)
	o.Model = coleo.ModelName(provider, model)
	return change, err
}

// orderModel sends an order for a model to the arm's host. If no host knows the arm, only the arm's
// row stores the model of the next start.
func (b *Brain) orderModel(ctx context.Context, arm coleo.Arm, o coleo.ModelOrder,
	change *coleo.ModelFallback) (bus.ModelReport, error) {
	if o.Scope == coleo.ScopeDefault {
		if err := b.checkHostTakesDefaults(arm.AgentID); err != nil {
			return bus.ModelReport{}, err
		}
	}
	var report bus.ModelReport
	err := b.OrderAndCatchUp(ctx, arm.ID, bus.OpModel, commands.PromptTimeout, func(arm coleo.Arm) any {
		return bus.ModelOrder{Arm: arm.ID, ModelOrder: o, InsteadOf: change}
	}, &report)
	return report, err
}

// checkHostTakesDefaults returns EUnsupported if a host agent is too old to change only the model
// of the next start. An older host agent would change the model at once.
func (b *Brain) checkHostTakesDefaults(host string) error {
	if beat := b.beatOf(host); beat.PID != 0 && !beat.TakesDefault {
		return coleo.Errorf(coleo.EUnsupported, "nothing was done: the host agent %s has version %s, which cannot change "+
			"the model of the next start alone: run 'coleo down' and 'coleo up' to update it", host, beat.Version)
	}
	return nil
}

// fallbackSeen records that a person has seen the replacement of an arm's model.
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

// providersTimeout is how long the brain waits for the replies of hosts. A host starts an agent CLI to
// get the catalogue.
const providersTimeout = 90 * time.Second

// askProviders gets the catalogue of models from a host. It returns the error of the last host that it
// asked, and EUnavailable if there is no host agent.
func (b *Brain) askProviders(ctx context.Context) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, providersTimeout)
	defer cancel()
	err := error(coleo.Errorf(coleo.EUnavailable, "no host agent runs: start one with 'coleo up'"))
	for _, beat := range b.liveHosts() {
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
