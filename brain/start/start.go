// Package start computes the configuration with which an arm starts. It takes the values of a
// request, of the arm's last start and of config.toml, and refuses what cannot work.
//
// Package start chooses no host, stores nothing and asks nobody.
package start

import (
	"cmp"
	"strings"

	"coleo.dev"
	"coleo.dev/armenv"
	"coleo.dev/wire"
)

// Harnesses finds harnesses for the rules.
type Harnesses interface {
	// Get returns the harness with the given name, or EInvalid if there is no such harness.
	Get(name string) (coleo.Harness, error)
	// Preferred returns the name of the harness for a request that names none.
	Preferred() string
	// PreferredWindow returns the name of the harness for a request that names none, if a person
	// wants to see the arm in a window.
	PreferredWindow() string
}

// Rules fill and check the configuration of an arm. The caller makes new Rules for each start.
type Rules struct {
	Harnesses Harnesses
	Defaults  Defaults
	Installed []string // the harnesses that are installed on at least one host, sorted
	// OnlyServe means that no host agent runs, so that serve itself would start the arm. Then
	// nobody knows which harnesses are installed.
	OnlyServe bool
}

// Defaults contains those settings in config.toml that are for arms. If a setting is missing, its field is
// empty.
type Defaults struct {
	Harness  string
	Provider string
	Model    string
	Fallback coleo.FallbackStrategy // which model may replace a model that is not available

	OnPartition coleo.OnPartition
	Policy      coleo.PolicyMode // for new arms

	SandboxLimit coleo.SandboxLimit // for new sandboxes
	SandboxImage string             // for new containers

	OnLimit      coleo.OnLimit
	ContinueWith string // see coleo.SpawnConfig

	Tools bool // whether new arms have Coleo's own tools, if their harness supports MCP
}

// Configure returns the configuration with which an arm is started. It takes each value from the request, or else
// from the arm's last start, or else from the defaults. Some values are also fields of the arm's row, and
// Configure sets these fields too. `known` is true if the arm already has a configuration, or takes over the
// configuration of its parent or predecessor.
//
// Configure returns EInvalid, EUnsupported, EForbidden or ENotInstalled if the arm cannot start in the requested
// way.
func (r Rules) Configure(arm *coleo.Arm, q wire.SpawnRequest, known bool) (coleo.SpawnConfig, error) {
	c, err := ofLastStart(*arm, known)
	if err != nil {
		return c, err
	}
	if provider, model, ok := strings.Cut(q.Model, "/"); ok && q.Provider == "" {
		q.Provider, q.Model = provider, model
	}
	if q.Terminal != "" && arm.Harness == "" {
		q.Harness = cmp.Or(q.Harness, r.Harnesses.PreferredWindow())
	}
	harness, err := r.harness(q.Harness, arm.Harness)
	if err != nil {
		return c, err
	}
	if err := r.fill(&c, q, arm, harness, known); err != nil {
		return c, err
	}
	arm.Harness, arm.Domain = harness, cmp.Or(q.Domain, arm.Domain)
	arm.ContextBudget = max(q.ContextBudget, arm.ContextBudget)
	arm.Workdir, arm.Provider, arm.Model = c.Workdir, c.Provider, c.Model
	if q.Model != "" || arm.DefaultModel == "" {
		arm.DefaultModel = coleo.ModelName(c.Provider, c.Model)
	}
	return c, nil
}

// fill sets and checks all values of a configuration.
func (r Rules) fill(c *coleo.SpawnConfig, q wire.SpawnRequest, arm *coleo.Arm, harness string, known bool) error {
	h, err := r.Harnesses.Get(harness)
	if err != nil {
		return err
	}
	before, info := *c, h.Info()
	for _, step := range []func() error{
		func() error { return configureThread(c, q) },
		func() error { r.takeValues(c, q, known); return nil },
		func() error { return r.configureOnLimit(c, q.OnLimit, harness) },
		func() error { return configureBudget(arm, c, q) },
		func() error { return r.configureSandbox(c, q, harness, known) },
		func() error { return checkWorktreeOfSubarm(*c) },
		func() error { return checkWith(before, q, arm.Name) },
		func() error { return checkUnguarded(before, *c, q.YesWithoutSandbox) },
		func() error { return checkJudged(before, *c, arm.Harness, info, q.Untested) },
		func() error { return r.configureTools(c, q, harness, known) },
		func() error { return armenv.Check(q.Env) },
		func() error { return r.checkScripted(harness, c, q) },
		func() error { return checkWorkdir(c.Workdir) },
		func() error { return r.configureWindow(c, q, harness, arm.Name) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// ofLastStart returns the configuration of an arm's last start, with the conversation that the arm
// has now. For a new arm, it returns an empty configuration.
func ofLastStart(arm coleo.Arm, known bool) (coleo.SpawnConfig, error) {
	if !known || len(arm.Config) == 0 {
		return coleo.SpawnConfig{}, nil
	}
	c, err := decode(arm)
	if err == nil {
		c.Conversation = arm.SessionID
	}
	return c, err
}

// Stored returns the configuration of an arm's last start, which the row must contain. It returns EUnavailable if the
// row has none. After the database was lost, a row has none until its host agent reports the arm. Stored returns
// EUnsupported for a configuration that only a newer Coleo can start.
func Stored(arm coleo.Arm) (coleo.SpawnConfig, error) {
	if len(arm.Config) == 0 {
		return coleo.SpawnConfig{}, coleo.Errorf(coleo.EUnavailable, "the configuration of arm %s is not known yet: "+
			"its host agent reports it. Nothing was started", arm.Name)
	}
	return decode(arm)
}

// decode returns the configuration of an arm. It returns EUnsupported if only a newer Coleo can start it.
func decode(arm coleo.Arm) (coleo.SpawnConfig, error) {
	c, err := arm.DecodeConfig()
	if err == nil {
		err = c.CheckKnown()
	}
	return c, err
}
