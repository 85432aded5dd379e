package brain

import (
	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// checkScripted returns an error if the options of a request do not fit the scripted
// model. If the request asks for the scripted model, with neither a provider nor an
// endpoint, checkScripted clears both in c. Their values came from the stopped arm or
// from the defaults.
func (b *Brain) checkScripted(harness string, c *coleo.SpawnConfig, q wire.SpawnRequest) error {
	if q.Model == coleo.ModelScripted && q.Provider == "" && q.Endpoint == "" {
		c.Provider, c.Endpoint = "", ""
	}
	if !c.Scripted() {
		if q.Script != "" {
			return coleo.Errorf(coleo.EInvalid,
				"a script works only with the scripted model: add --model %s", coleo.ModelScripted)
		}
		return nil
	}
	h, err := b.Registry.Get(harness)
	if err != nil {
		return err
	}
	switch info := h.Info(); {
	case info.NoModel:
		return coleo.Errorf(coleo.EUnsupported, "the harness %s uses no model: leave out --model %s",
			harness, coleo.ModelScripted)
	case info.Transport == coleo.TransportHTTP:
		return coleo.Errorf(coleo.EUnsupported,
			"the harness %s uses HTTP, which cannot reach an arm with the scripted model: "+
				"choose a harness with a terminal", harness)
	case c.Profile == coleo.ProfileUser || c.Home != "":
		return coleo.Errorf(coleo.EInvalid,
			"an arm with the scripted model has a HOME of its own: leave out --profile and --home")
	}
	return nil
}

// checkHostUnderstands returns EUnsupported if the host agent is too old to carry out
// the whole order to start an arm. Such a host agent would ignore what it does not know.
// It would start the arm without its environment variables, with a real model, without
// a freeze, or in another folder.
func (b *Brain) checkHostUnderstands(host string, o bus.SpawnOrder) error {
	if err := b.knowsTools(host, o); err != nil {
		return err
	}
	given := len(o.Env) > 0 || len(o.Config.EnvNames) > 0 || o.Script != ""
	given = given || o.Config.Scripted() || o.Config.OnPartition == coleo.PartitionFreeze
	if !given && o.Config.Fork == "" && o.Config.Worktree == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.hosts[host]
	if m == nil || m.beat.PID == 0 {
		return nil // a host agent without a beat cannot be asked, so the order fails later
	}
	if (!given || m.beat.TakesGiven) && (o.Config.Fork == "" || m.beat.TakesForks) &&
		(o.Config.Worktree == nil || m.beat.TakesWorktrees) {
		return nil
	}
	return unsent{coleo.Errorf(coleo.EUnsupported,
		"nothing was started: the host agent %s has version %s, which does not support environment variables for "+
			"arms, the scripted model, freeze, copies of conversations or worktrees: run 'coleo down' and 'coleo up' to update it", host, m.beat.Version)}
}
