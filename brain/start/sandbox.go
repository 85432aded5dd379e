package start

import (
	"slices"

	"coleo.dev"
	"coleo.dev/wire"
)

// configureSandbox sets the sandbox of an arm. If the request does not mention a sandbox, a stopped
// arm keeps its sandbox, and a subarm gets the sandbox of its parent. The same applies to the
// sandbox's network and limit.
func (r Rules) configureSandbox(c *coleo.SpawnConfig, q wire.SpawnRequest, harness string, known bool) error {
	if q.Sandbox == nil {
		return nil
	}
	if err := r.checkSandbox(*q.Sandbox, *c, harness); err != nil {
		return err
	}
	next := r.completeSandbox(*q.Sandbox, c.Sandbox, known)
	if next.Image == "" && next.Container() {
		return coleo.Errorf(coleo.EInvalid, "nothing was started: --sandbox %s needs an image that contains the agent CLI: "+
			"name it with --sandbox-image, or as image below [sandbox] in config.toml", next.Kind)
	}
	c.Sandbox = nil
	if next.On() {
		c.Sandbox = &next
	}
	return nil
}

// checkSandbox returns an error if an arm cannot have the requested sandbox.
func (r Rules) checkSandbox(asked coleo.Sandbox, c coleo.SpawnConfig, harness string) error {
	if err := asked.Check(); err != nil {
		return err
	}
	if c.Parent != "" && asked.String() != c.Sandbox.String() {
		return coleo.Errorf(coleo.EForbidden, "nothing was started: a subarm has the sandbox of its parent")
	}
	if asked.Folder != "" || asked.LimitedBy != "" {
		return coleo.Errorf(coleo.EInvalid, "nothing was started: only "+
			"Coleo sets the "+
			"folder of a sandbox, and what enforces its limits")
	}
	h, err := r.Harnesses.Get(harness)
	if err != nil {
		return err
	}
	if asked.On() && h.Info().Transport == coleo.TransportHTTP {
		return coleo.Errorf(coleo.EUnsupported, "nothing was started: the harness %s uses HTTP, and Coleo makes sandboxes "+
			"only for harnesses with a terminal", harness)
	}
	return nil
}

// completeSandbox sets the fields that a request for a sandbox does not mention. It takes each
// value from the sandbox that the arm has, or else from the defaults.
func (r Rules) completeSandbox(next coleo.Sandbox, has *coleo.Sandbox, known bool) coleo.Sandbox {
	if known && next.Network == "" && has.On() {
		next.Network = has.Network
	}
	if known && next.Limit == "" && has.On() {
		next.Limit = has.Limit
	}
	if next.On() && next.Limit == "" {
		next.Limit = r.Defaults.SandboxLimit
	}
	if known && next.Image == "" && next.Container() && has.Container() {
		next.Image = has.Image
	}
	if next.Image == "" && next.Container() {
		next.Image = r.Defaults.SandboxImage
	}
	return next
}

// checkUnguarded returns EInvalid if an arm would get the permission mode "all" without a sandbox, and the user
// has not agreed. If the arm already had this mode without a sandbox, the user agreed then, and checkUnguarded
// returns nil. `before` is the configuration that the arm had, or that it has from its parent or predecessor.
func checkUnguarded(before, c coleo.SpawnConfig, agreed bool) error {
	unguarded := func(c coleo.SpawnConfig) bool {
		return c.PermissionMode == coleo.PermissionAll && !c.Sandbox.On()
	}
	if agreed || !unguarded(c) || unguarded(before) {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "nothing was started: with the permission mode %s, the agent CLI runs every "+
		"command with your rights and never asks: add --sandbox %s, or --yes-without-sandbox if you agree",
		coleo.PermissionAll, coleo.SandboxBwrap)
}

// checkJudged returns EInvalid if the harness h was not tested in the arm's kind of sandbox, and the user has
// not agreed. It returns nil if the arm had this harness in this kind of sandbox before. `before` and
// hadHarness are the configuration and the harness that the arm had, or has from its parent.
func checkJudged(before, c coleo.SpawnConfig, hadHarness string, h coleo.Info, agreed bool) error {
	switch {
	case agreed, !c.Sandbox.On(), !h.TakesSandbox, slices.Contains(h.JudgedSandboxes, c.Sandbox.Kind):
		return nil
	case hadHarness == h.Name && before.Sandbox.On() && before.Sandbox.Kind == c.Sandbox.Kind:
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "nothing was started: nobody has tested %s with --sandbox %s: add --untested "+
		"if you want to try it; 'coleo harness test %s --sandbox %s' tests it first", h.Title, c.Sandbox.Kind, h.Name,
		c.Sandbox.Kind)
}

// checkWorktreeOfSubarm returns an error for a worktree of a subarm in a sandbox, because the
// subarm can write only in the folder of its parent.
func checkWorktreeOfSubarm(c coleo.SpawnConfig) error {
	if c.Worktree == nil || !c.Sandbox.On() || c.Parent == "" {
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "nothing was started: a subarm in a sandbox works in the folder of its "+
		"parent, so it can have no worktree")
}
