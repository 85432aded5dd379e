package models

import (
	"cmp"
	"context"

	"coleo.dev"
	"coleo.dev/brain/start"
	"coleo.dev/limit"
	"coleo.dev/modelresolver"
)

// Resolve replaces the model in the configuration if this model is not available and the strategy allows another
// model. It changes nothing for a harness without a list of models, for the user's own model server, and for the
// scripted model. If there is no catalogue, it keeps the model unchecked.
//
// If `keepsModel` is true, the request names no model, so the arm keeps its present model. One exception: if the
// present model is a replacement, Resolve tries the originally requested model again.
//
// Resolve returns nil if the arm gets the requested model. It returns ENotFound if the strategy allows no model,
// and EInvalid if the agent CLI has no such model.
func (r *Resolver) Resolve(ctx context.Context, arm *coleo.Arm, c *coleo.SpawnConfig, keepsModel bool,
	strategy coleo.FallbackStrategy) (*coleo.ModelFallback, error) {
	ownProvider, own := c.ModelOf()
	provider, model, was := ownProvider, own, arm.ModelFallback
	if keepsModel && was != nil && was.Used.Model == coleo.ModelName(provider, model) {
		provider, model = coleo.SplitModel(was.Asked.Model)
		strategy = cmp.Or(strategy, was.Strategy)
	}
	change, err := r.Available(ctx, arm.Harness, *c, &provider, &model, strategy)
	if err != nil {
		return nil, err
	}
	if provider != ownProvider || model != own {
		start.ForgetChosen(c, model, "")
		c.Provider, c.Model, arm.Provider, arm.Model = provider, model, provider, model
	}
	if change != nil && keepsModel && was != nil && change.Used.Model == was.Used.Model {
		// keep the time and what the user has seen, because this is the same replacement as before
		change.Time, change.Seen = was.Time, was.Seen
	}
	arm.ModelFallback = change
	return change, nil
}

// Available replaces a model that is not available, in the same way as Resolve. It returns the
// replacement, or nil if it has changed nothing. It reads the configuration only to recognize an
// arm with its own model server or with the scripted model.
func (r *Resolver) Available(ctx context.Context, harness string, c coleo.SpawnConfig, provider, model *string,
	strategy coleo.FallbackStrategy) (*coleo.ModelFallback, error) {
	h, err := r.Harnesses.Get(harness)
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
	return r.fromCatalog(ctx, harness, provider, model, strategy)
}

// fromCatalog replaces a model that the catalogue does not offer. It returns the replacement, or
// nil if it has changed nothing.
func (r *Resolver) fromCatalog(ctx context.Context, harness string, provider, model *string,
	strategy coleo.FallbackStrategy) (*coleo.ModelFallback, error) {
	catalog, err := r.catalog(ctx)
	if coleo.ErrorCode(err) == coleo.EInvalid {
		return nil, coleo.Errorf(coleo.EInvalid, "nothing was done: %w; correct the configuration of the agent CLI, or "+
			"leave out the model", err)
	}
	if err != nil {
		r.Log.Warn("the requested model is used unchecked: no catalogue", "model", *model, "error", err)
		return nil, nil
	}
	request := modelresolver.ModelRequest{Provider: *provider, Model: *model, Strategy: cmp.Or(strategy, r.Fallback)}
	if p, ok := r.Prices().Find(*provider, *model); ok {
		request.Cost = &modelresolver.Cost{Input: p.Input, Output: p.Output}
	}
	choice, err := modelresolver.Choose(catalog, request)
	if err != nil {
		return nil, err
	}
	*provider, *model = choice.ProviderID, choice.ModelID
	if !choice.Fallback {
		return nil, nil
	}
	r.Log.Info("another model than the requested one", "harness", harness, "reason", choice.Reason,
		"asked", choice.Asked, "used", choice.Used)
	return &coleo.ModelFallback{Asked: choice.Asked, Used: choice.Used, Reason: choice.Reason,
		Strategy: cmp.Or(request.Strategy, coleo.FallbackAny), Time: r.Now().UTC()}, nil
}

// MayCost returns an error if the fallback policy of an arm forbids the price of the given model.
func (r *Resolver) MayCost(ctx context.Context, arm coleo.Arm, i coleo.Info, provider, model string) error {
	policy := r.Fallback
	if arm.ModelFallback != nil && arm.ModelFallback.Strategy != "" {
		policy = arm.ModelFallback.Strategy
	}
	catalog, err := r.catalog(ctx)
	if err != nil {
		catalog = modelresolver.Catalog{} // go on without a catalogue, because the price book may know the prices
	}
	price := func(provider, model string) *coleo.Price {
		for _, o := range modelresolver.AvailableByCost(catalog) {
			if i.Catalog && o.ProviderID == provider && o.ModelID == model && o.Source != coleo.PriceUnknown {
				return r.priceOf(o)
			}
		}
		if p, ok := r.Prices().Find(cmp.Or(provider, i.ModelProvider), model); ok {
			return &p
		}
		return nil
	}
	return limit.MayCost(policy, price(arm.Provider, arm.Model), price(provider, model))
}
