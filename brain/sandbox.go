package brain

import (
	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// configureSandbox sets the sandbox of an arm. Without a word in the request, a stopped arm
// keeps its sandbox, and so does a subarm the sandbox of its parent. A request without a
// network for the sandbox keeps the network too.
func (b *Brain) configureSandbox(c *coleo.SpawnConfig, q wire.SpawnRequest, harness string, known bool) error {
	asked := q.Sandbox
	if asked == nil {
		return nil
	}
	if err := asked.Check(); err != nil {
		return err
	}
	if c.Parent != "" && asked.String() != c.Sandbox.String() {
		return coleo.Errorf(coleo.EForbidden, "nothing was started: a subarm has the sandbox of its parent")
	}
	if asked.Folder != "" {
		return coleo.Errorf(coleo.EInvalid, "nothing was started: only Coleo sets the folder of a sandbox")
	}
	h, err := b.Registry.Get(harness)
	if err != nil {
		return err
	}
	if asked.On() && h.Info().Transport == coleo.TransportHTTP {
		return coleo.Errorf(coleo.EUnsupported, "nothing was started: the harness %s uses HTTP, and Coleo makes sandboxes only "+
			"for harnesses with a terminal", harness)
	}
	next := *asked
	if known && next.Network == "" && c.Sandbox.On() {
		next.Network = c.Sandbox.Network
	}
	c.Sandbox = nil
	if next.On() {
		c.Sandbox = &next
	}
	return nil
}

// checkSandboxOfWorktree refuses a sandbox for an arm with a worktree. The worktree's commits
// go into the main repository, which the sandbox does not show.
func checkSandboxOfWorktree(c coleo.SpawnConfig) error {
	if c.Worktree == nil || !c.Sandbox.On() {
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "nothing was started: git cannot commit in a worktree inside a sandbox; "+
		"leave out --worktree, and name a clone of the repository with -w")
}

// knowsSandbox returns EUnsupported if the order is for a sandbox, and the host agent is too
// old to make one.
func (b *Brain) knowsSandbox(host string, o bus.SpawnOrder) error {
	if !o.Config.Sandbox.On() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.hosts[host]
	if m == nil || m.beat.PID == 0 || m.beat.TakesSandbox {
		return nil // a host agent without a beat cannot be asked, so the order fails later
	}
	return unsent{coleo.Errorf(coleo.EUnsupported, "nothing was started: the host agent %s has version %s, which makes no "+
		"sandboxes: run 'coleo down' and 'coleo up' to update it", host, m.beat.Version)}
}
