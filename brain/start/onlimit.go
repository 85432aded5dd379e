package start

import (
	"cmp"

	"coleo.dev"
)

// configureOnLimit sets what an arm does at a limit of its model. The value in a request replaces what the user
// has chosen before.
func (r Rules) configureOnLimit(c *coleo.SpawnConfig, on coleo.OnLimit, harness string) error {
	c.OnLimit = cmp.Or(on, c.OnLimit, r.Defaults.OnLimit)
	if on != "" && c.Chosen != nil && c.Chosen.OnLimit != "" {
		c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) { now.OnLimit = "" })
	}
	if err := on.Check(); err != nil {
		return coleo.Errorf(coleo.EInvalid, "nothing was started: %v", err)
	}
	return r.CheckOnLimit(on, harness, *c)
}

// CheckOnLimit returns an error if a request names an alternative that its arm can never use. It
// does not check the defaults of config.toml, because they apply to all harnesses.
func (r Rules) CheckOnLimit(on coleo.OnLimit, harness string, c coleo.SpawnConfig) error {
	if err := on.Check(); err != nil {
		return err
	}
	for _, step := range on.Steps() {
		name := harness
		if step.Do == coleo.LimitHandover {
			name = step.To
		}
		h, err := r.Harnesses.Get(name)
		if err == nil && step.Do == coleo.LimitHandover {
			err = TakesTasks(h.Info())
		}
		if err != nil {
			return err
		}
		if provider, model := coleo.SplitModel(step.To); step.Do == coleo.LimitModel && !h.Info().Catalog &&
			c.Endpoint == "" && !c.Scripted() {
			err = KnownModel(h.Info(), provider, model)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
