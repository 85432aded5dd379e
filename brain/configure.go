package brain

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/budget"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// configure returns the configuration with which an arm is started. It takes each value
// from the request. If the request lacks a value, configure takes the value from the
// stopped arm, and otherwise from the defaults. It also sets the fields of the arm's row that repeat
// a value.
func (b *Brain) configure(arm *coleo.Arm, q wire.SpawnRequest, known bool) (coleo.SpawnConfig, error) {
	c, err := storedConfig(arm, known)
	if err != nil {
		return c, err
	}
	before := c
	if provider, model, ok := strings.Cut(q.Model, "/"); ok && q.Provider == "" {
		q.Provider, q.Model = provider, model
	}
	if q.Terminal != "" && arm.Harness == "" {
		q.Harness = first(q.Harness, b.Registry.PreferredWindow())
	}
	harness, err := b.harness(q.Harness, arm.Harness)
	if err != nil {
		return c, err
	}
	for _, step := range []func() error{
		func() error { return configureThread(&c, q) },
		func() error { b.takeValues(&c, q, known); return nil },
		func() error { return b.configureOnLimit(&c, q.OnLimit, harness) },
		func() error { return configureBudget(arm, &c, q) },
		func() error { return b.configureSandbox(&c, q, harness, known) },
		func() error { return checkWorktreeOfSubarm(c) },
		func() error { return checkUnguarded(before, c, q.YesWithoutSandbox) },
		func() error { return b.configureTools(&c, q, harness, known) },
		func() error { return coleo.CheckEnv(q.Env) },
		func() error { return b.checkScripted(harness, &c, q) },
		func() error { return checkWorkdir(c.Workdir) },
		func() error { return b.configureWindow(&c, q, harness, arm.Name) },
	} {
		if err := step(); err != nil {
			return c, err
		}
	}
	arm.Harness, arm.Domain = harness, first(q.Domain, arm.Domain)
	arm.ContextBudget = max(q.ContextBudget, arm.ContextBudget)
	arm.Workdir, arm.Provider, arm.Model = c.Workdir, c.Provider, c.Model
	if q.Model != "" || arm.DefaultModel == "" {
		arm.DefaultModel = coleo.ModelName(c.Provider, c.Model)
	}
	return c, nil
}

// storedConfig returns the configuration of the arm's last start. It returns an empty configuration
// for a new arm.
func storedConfig(arm *coleo.Arm, known bool) (c coleo.SpawnConfig, err error) {
	if !known || len(arm.Config) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(arm.Config, &c); err != nil {
		return c, fmt.Errorf("read the configuration of arm %s: %w", arm.Name, err)
	}
	c.Conversation = arm.SessionID
	return c, nil
}

// takeValues sets the values that need no check of their own.
func (b *Brain) takeValues(c *coleo.SpawnConfig, q wire.SpawnRequest, known bool) {
	c.Workdir = first(q.Workdir, c.Workdir)
	c.Provider, c.Model = first(q.Provider, c.Provider, b.Defaults.Provider), first(q.Model, c.Model, b.Defaults.Model)
	c.Endpoint = first(q.Endpoint, c.Endpoint)
	c.Profile, c.Home = coleo.Profile(first(string(q.Profile), string(c.Profile))), first(q.Home, c.Home)
	c.PermissionMode = coleo.PermissionMode(first(string(q.PermissionMode), string(c.PermissionMode)))
	forgetChosen(c, q.Model, string(q.PermissionMode))
	c.OnPartition = coleo.OnPartition(first(string(q.OnPartition), string(c.OnPartition),
		string(b.Defaults.OnPartition)))
	if c.Policy = coleo.PolicyMode(first(string(q.Policy), string(c.Policy))); c.Policy == "" && !known {
		c.Policy = b.Defaults.Policy
	}
	c.ContinueWith = first(q.ContinueWith, c.ContinueWith, b.Defaults.ContinueWith)
	if q.EndWhenDone != nil {
		c.EndWhenDone = *q.EndWhenDone
	}
	if q.Worktree != nil && (c.Worktree == nil || q.Worktree.Branch != "") {
		from := c.Worktree
		c.Worktree = &coleo.Worktree{Branch: q.Worktree.Branch, Base: q.Worktree.Base, NoSetup: q.Worktree.NoSetup}
		if from != nil {
			c.Worktree.From = from.From
		}
	}
	c.TrustWorkdir = c.TrustWorkdir || q.TrustWorkdir
	c.Cols, c.Rows = max(q.Cols, c.Cols), max(q.Rows, c.Rows)
	if len(q.Wrap) > 0 {
		c.Wrap = q.Wrap
	}
	if len(q.Args) > 0 {
		c.Args = q.Args
	}
	if len(q.MCPServers) > 0 {
		c.MCPServers = q.MCPServers
	}
	if len(q.Env) > 0 {
		c.EnvNames = coleo.EnvNames(q.Env)
	}
}

// checkWorkdir returns EInvalid if a work folder is no absolute path.
func checkWorkdir(workdir string) error {
	if filepath.IsAbs(workdir) {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "the work folder %q must be an absolute path", workdir)
}

// configureBudget sets the budget of an arm. If the request does not mention a budget, a stopped arm
// keeps its own.
func configureBudget(arm *coleo.Arm, c *coleo.SpawnConfig, q wire.SpawnRequest) error {
	if q.Budget == nil {
		return nil
	}
	b := *q.Budget
	if err := b.Check(); err != nil {
		return err
	}
	c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) {
		if now.Budget = &b; b.Dollars == 0 {
			now.Budget, arm.Budget = nil, nil
		}
	})
	return nil
}

// checkBudget returns EUnsupported if the budget of a request cannot be kept by the harness with the
// model that the arm gets.
func (b *Brain) checkBudget(arm coleo.Arm, q wire.SpawnRequest) error {
	if q.Budget == nil {
		return nil
	}
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return err
	}
	var price *coleo.Price
	if p, ok := b.prices().Find(arm.Provider, arm.Model); ok && arm.Model != "" {
		price = &p
	}
	info := h.Info()
	err = budget.CanKeep(*q.Budget, info.Name, budget.TellingOf(info), coleo.ModelName(arm.Provider, arm.Model), price)
	if err != nil {
		return coleo.Errorf(coleo.EUnsupported, "nothing was started: %w", err)
	}
	return nil
}

// requireSupport returns EUnsupported if a host agent is too old for a part of an order. The caller
// passes the end of the sentence for the user, which says what the host agent does not do. A host
// agent without a beat cannot be asked: the order fails later.
func (b *Brain) requireSupport(host string, takes func(bus.Beat) bool, whatItLacks string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.hosts[host]; m == nil || m.beat.PID == 0 || takes(m.beat) {
		return nil
	}
	return commands.NotSent(coleo.Errorf(coleo.EUnsupported,
		"nothing was done: the host agent %s has version %s, which %s: "+
			"run 'coleo down' and 'coleo up' to update it", host, b.hosts[host].beat.Version, whatItLacks))
}

// checkScripted returns an error if the options of a request do not fit the scripted model. A
// request for the scripted model must name neither a provider nor an endpoint. checkScripted then
// clears the provider and the endpoint in the configuration. Their values came from the stopped arm
// or from the defaults.
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

// spawnNeed is a part of an order to start an arm. A host agent can be too old for it.
type spawnNeed struct {
	in    func(bus.SpawnOrder) bool // reports whether the order has the part
	takes func(bus.Beat) bool       // reports whether the host agent carries it out
	lacks string                    // what an older host agent does not do, for the user's sentence
}

// spawnNeeds lists the parts that a host agent would ignore if it did not know them.
var spawnNeeds = []spawnNeed{
	{func(o bus.SpawnOrder) bool {
		return len(o.Env) > 0 || len(o.Config.EnvNames) > 0 || o.Script != "" || o.Config.Scripted() ||
			o.Config.OnPartition == coleo.PartitionFreeze
	}, func(b bus.Beat) bool { return b.TakesGiven },
		"gives arms no environment variables and no scripted model, and freezes none"},
	{func(o bus.SpawnOrder) bool { return o.Config.Fork != "" },
		func(b bus.Beat) bool { return b.TakesForks }, "makes no copies of conversations"},
	{func(o bus.SpawnOrder) bool { return o.Config.Worktree != nil },
		func(b bus.Beat) bool { return b.TakesWorktrees }, "makes no worktrees"},
	{func(o bus.SpawnOrder) bool { return o.Config.Worktree != nil && o.Config.Sandbox.On() },
		func(b bus.Beat) bool { return b.TakesClones }, "makes no clones for arms in a sandbox"},
	{func(o bus.SpawnOrder) bool { return o.First != nil },
		func(b bus.Beat) bool { return b.TakesSubarms }, "starts no arm with a first prompt"},
	{func(o bus.SpawnOrder) bool { return len(o.Config.Tools) > 0 },
		func(b bus.Beat) bool { return b.TakesTools }, "has no tools for arms"},
	{func(o bus.SpawnOrder) bool {
		return slices.ContainsFunc(o.Config.Tools, func(t string) bool { return slices.Contains(coleo.SubarmTools(), t) })
	}, func(b bus.Beat) bool { return b.TakesSubarms }, "has no tools for subarms"},
	{func(o bus.SpawnOrder) bool { return o.Config.Sandbox.Container() },
		func(b bus.Beat) bool { return b.TakesContainers }, "makes no containers"},
	{func(o bus.SpawnOrder) bool { return o.Config.Sandbox.On() },
		func(b bus.Beat) bool { return b.TakesSandbox }, "makes no sandboxes"},
	{func(o bus.SpawnOrder) bool { return o.Config.Sandbox.On() && o.Config.Sandbox.Limit.On() },
		func(b bus.Beat) bool { return b.TakesSandboxLimit }, "keeps no limits of sandboxes"},
	{func(o bus.SpawnOrder) bool { return o.Config.Sandbox.On() && o.Config.Sandbox.Network.Filtered() },
		func(b bus.Beat) bool { return b.TakesSandboxNet }, "makes no sandboxes that reach only some hosts"},
	{func(o bus.SpawnOrder) bool { return o.Config.Chosen != nil && o.Config.Chosen.Budget != nil },
		func(b bus.Beat) bool { return b.TakesBudget }, "keeps no budgets"},
	{func(o bus.SpawnOrder) bool { return o.Request != "" && o.Config.Parent == "" },
		func(b bus.Beat) bool { return b.TakesTriggers }, "starts no arms of triggers"},
	{func(o bus.SpawnOrder) bool { return o.Config.EndWhenDone },
		func(b bus.Beat) bool { return b.TakesEndWhenDone }, "ends no arm when its work is done"},
	{func(o bus.SpawnOrder) bool { return len(o.Config.AtLimit().Steps()) > 0 },
		func(b bus.Beat) bool { return b.TakesAlternatives }, "can only wait at a limit of the model"},
}

// checkHostUnderstands returns EUnsupported if the host agent is too old to carry out the whole
// order to start an arm. An older host agent would start the arm without the part that it does not
// know.
func (b *Brain) checkHostUnderstands(host string, o bus.SpawnOrder) error {
	for _, need := range spawnNeeds {
		if need.in(o) {
			if err := b.requireSupport(host, need.takes, need.lacks); err != nil {
				return err
			}
		}
	}
	return nil
}
