package placement

import (
	"slices"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
)

// need is one part of an order to start an arm, such as a worktree. An old host agent may not know this part.
type need struct {
	in    func(bus.SpawnOrder) bool // reports whether the order contains this part
	takes func(bus.Beat) bool       // reports whether the host agent with this beat knows the part
	lacks string                    // the end of a message to the user, which says what an older host agent does not do
}

// needs contains the parts that an old host agent would ignore because it does not know them.
var needs = []need{
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
	{func(o bus.SpawnOrder) bool { return o.Config.Worktree != nil && len(o.Config.Worktree.With) > 0 },
		func(b bus.Beat) bool { return b.TakesWith }, "makes no worktrees of several repositories for one arm"},
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
	{func(o bus.SpawnOrder) bool { return o.Config.Policy != "" && o.Config.Policy != coleo.PolicyOff },
		func(b bus.Beat) bool { return b.TakesPolicy }, "judges no dialogs by a policy"},
	{func(o bus.SpawnOrder) bool { return o.Request != "" && o.Config.Parent == "" },
		func(b bus.Beat) bool { return b.TakesTriggers }, "starts no arms of triggers"},
	{func(o bus.SpawnOrder) bool { return o.Config.EndWhenDone },
		func(b bus.Beat) bool { return b.TakesEndWhenDone }, "ends no arm when its work is done"},
	{func(o bus.SpawnOrder) bool { return len(o.Config.AtLimit().Steps()) > 0 },
		func(b bus.Beat) bool { return b.TakesAlternatives }, "can only wait at a limit of the model"},
}

// CheckUnderstands returns EUnsupported if a host agent is too old to carry out the whole order to
// start an arm. Such a host agent would start the arm without the part that it does not know.
func CheckUnderstands(host bus.Beat, o bus.SpawnOrder) error {
	for _, n := range needs {
		if n.in(o) {
			if err := Require(host, n.takes, n.lacks); err != nil {
				return err
			}
		}
	}
	return nil
}

// Require returns EUnsupported if a host agent is too old for a part of an order. The error message ends with
// `whatItLacks`, which says what the host agent does not do. Require returns nil for a host agent that has sent no
// beat (its sign of life), because an order to it fails later.
func Require(host bus.Beat, takes func(bus.Beat) bool, whatItLacks string) error {
	if host.PID == 0 || takes(host) {
		return nil
	}
	return commands.NotSent(coleo.Errorf(coleo.EUnsupported,
		"nothing was done: the host agent %s has version %s, which %s: "+
			"run 'coleo down' and 'coleo up' to update it", host.ID, host.Version, whatItLacks))
}
