package brain

import (
	"coleo.dev"
	"coleo.dev/bus"
)

// checkScripted returns an error for options that do not fit the scripted model. If a
// request names that model, checkScripted clears the provider and endpoint that come from
// the stopped arm or the defaults.
func (b *Brain) checkScripted(harness string, c *coleo.SpawnConfig, q coleo.SpawnRequest) error {
	if q.Model == coleo.ModelScripted && q.Provider == "" && q.Endpoint == "" {
		c.Provider, c.Endpoint = "", ""
	}
	if !c.Scripted() {
		if q.Script != "" {
			return coleo.Errorf(coleo.EInvalid, "a script is for the scripted model alone: add --model %s", coleo.ModelScripted)
		}
		return nil
	}
	h, err := b.Registry.Get(harness)
	if err != nil {
		return err
	}
	switch info := h.Info(); {
	case info.NoModel:
		return coleo.Errorf(coleo.EUnsupported, "the harness %s asks no model: leave out --model %s",
			harness, coleo.ModelScripted)
	case info.Transport == coleo.TransportHTTP:
		return coleo.Errorf(coleo.EUnsupported,
			"the harness %s is driven over HTTP, and an arm with the scripted model has a network of its own: choose a harness with a terminal", harness)
	case c.Profile == coleo.ProfileUser || c.Home != "":
		return coleo.Errorf(coleo.EInvalid,
			"an arm with the scripted model has a HOME of its own: leave out --profile and --home")
	}
	return nil
}

// understood returns EUnsupported for an order that an older host agent would carry out
// only in part. It would start the arm without its environment, with a real model, or
// without a freeze.
func (b *Brain) understood(host string, o bus.SpawnOrder) error {
	given := len(o.Env) > 0 || len(o.Config.EnvNames) > 0 || o.Script != ""
	if !given && !o.Config.Scripted() && o.Config.OnPartition != coleo.PartitionFreeze {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.hosts[host]
	if m == nil || m.beat.PID == 0 || m.beat.TakesGiven {
		return nil // a host agent that has not sent a beat yet cannot be asked either
	}
	return unsent{coleo.Errorf(coleo.EUnsupported,
		"nothing was started: the host agent %s is of version %s, which knows no environment variables for arms, no scripted model and no freeze: 'coleo down' and 'coleo up' bring it up to date", host, m.beat.Version)}
}
