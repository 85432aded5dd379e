package start

import (
	"cmp"
	"path/filepath"
	"slices"

	"coleo.dev"
	"coleo.dev/armenv"
	"coleo.dev/wire"
)

// takeValues copies the values of a request that need no check of their own.
func (r Rules) takeValues(c *coleo.SpawnConfig, q wire.SpawnRequest, known bool) {
	c.Workdir = cmp.Or(q.Workdir, c.Workdir)
	c.Provider, c.Model = cmp.Or(q.Provider, c.Provider, r.Defaults.Provider), cmp.Or(q.Model, c.Model, r.Defaults.Model)
	c.Endpoint = cmp.Or(q.Endpoint, c.Endpoint)
	c.Profile, c.Home = cmp.Or(q.Profile, c.Profile), cmp.Or(q.Home, c.Home)
	c.PermissionMode = cmp.Or(q.PermissionMode, c.PermissionMode)
	ForgetChosen(c, q.Model, string(q.PermissionMode))
	c.OnPartition = cmp.Or(q.OnPartition, c.OnPartition, r.Defaults.OnPartition)
	if c.Policy = cmp.Or(q.Policy, c.Policy); c.Policy == "" && !known {
		c.Policy = r.Defaults.Policy
	}
	c.ContinueWith = cmp.Or(q.ContinueWith, c.ContinueWith, r.Defaults.ContinueWith)
	if q.EndWhenDone != nil {
		c.EndWhenDone = *q.EndWhenDone
	}
	takeWorktree(c, q.Worktree)
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
		c.EnvNames = armenv.Names(q.Env)
	}
}

// takeWorktree sets the worktree of an arm to the requested one. An arm that already has a worktree
// keeps it, unless the request names another branch.
func takeWorktree(c *coleo.SpawnConfig, asked *wire.Worktree) {
	if asked == nil || c.Worktree != nil && asked.Branch == "" {
		return
	}
	from := c.Worktree
	c.Worktree = &coleo.Worktree{Branch: asked.Branch, Base: asked.Base, NoSetup: asked.NoSetup, With: asked.With}
	if from != nil {
		c.Worktree.From, c.Worktree.With = from.From, from.With
	}
}

// mostWith is the largest number of further repositories of an arm. Each repository makes the start
// slower.
const mostWith = 15

// checkWith checks the folders of further repositories in a request. It returns EInvalid if there are too many
// folders or one of the paths is not absolute. It returns EConflict if the arm already has a worktree, and this
// worktree has a different list of further repositories.
func checkWith(before coleo.SpawnConfig, q wire.SpawnRequest, arm string) error {
	if q.Worktree == nil || len(q.Worktree.With) == 0 {
		return nil
	}
	if before.Worktree != nil && !slices.Equal(before.Worktree.With, q.Worktree.With) {
		return coleo.Errorf(coleo.EConflict, "arm %s has its repositories already: nothing was started; start it without "+
			"--with, or start a new arm", arm)
	}
	if len(q.Worktree.With) > mostWith {
		return coleo.Errorf(coleo.EInvalid, "an arm has at most %d further repositories: nothing was started", mostWith)
	}
	for _, folder := range q.Worktree.With {
		if !filepath.IsAbs(folder) {
			return coleo.Errorf(coleo.EInvalid, "the folder %q of a further repository "+
				"must be an absolute path: nothing was started", folder)
		}
	}
	return nil
}

// checkWorkdir returns EInvalid if a work folder is not an absolute path.
func checkWorkdir(workdir string) error {
	if filepath.IsAbs(workdir) {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "the work folder %q must be an absolute path", workdir)
}
