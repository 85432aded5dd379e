package git

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Clone describes a clone of a user's repository. An arm in a sandbox works in the clone, and can write to the
// clone's git folder.
type Clone struct {
	Work, Git string
	Main      string // the common folder of the user's repository
	Arm       string // the id of the arm for which the clone was made
	Begin     string // the commit at which that arm's work begins
	// Ignores is the git folder whose list info/exclude names files that git ignores. If it is "", git uses the clone's
	// own list, which the arm can write.
	Ignores string
}

// OpenClone opens a clone. The arm could use the clone's settings to hide a file, a mode or a line end from git.
// So unlike OpenAt, OpenClone takes such settings from the user's repository. It also takes the file
// info/attributes from there. The .gitattributes files apply as usual. Git also ignores the clone's commit-graph,
// because the arm can write a false one.
func (p Program) OpenClone(ctx context.Context, c Clone) (*Repo, error) {
	return p.openAt(ctx, c.Work, c.Git, c)
}

// ofClone lists beginnings of names of settings. OpenClone takes these settings from the clone itself, because they
// describe the clone's format, remotes and branches.
var ofClone = []string{"core.repositoryformatversion", "core.bare", "extensions.", "remote.", "branch."}

// notInClone lists beginnings of names of settings. OpenClone ignores these settings, because a clone always
// contains all files.
var notInClone = []string{"core.sparsecheckout", "index.sparse"}

// cloneSettings returns the settings that apply in a clone. `own` contains the settings in the clone's
// configuration, which the arm can write.
func (r *Repo) cloneSettings(ctx context.Context, own []setting) ([]setting, error) {
	begins := func(s setting, list []string) bool {
		return slices.ContainsFunc(list, func(begin string) bool { return strings.HasPrefix(s.key, begin) })
	}
	settings := slices.DeleteFunc(own, func(s setting) bool { return !begins(s, ofClone) })
	for _, name := range []string{"config", "config.worktree"} {
		users, err := r.program.readHarmless(ctx, filepath.Join(r.main, name))
		if err != nil {
			return nil, err
		}
		settings = append(settings, slices.DeleteFunc(users, func(s setting) bool {
			return begins(s, ofClone) || begins(s, notInClone)
		})...)
	}
	return settings, nil
}

// linkInfo makes the folder "info" in the stand-in of a clone, the folder that git uses in place of the clone's git
// folder.
func (r *Repo) linkInfo() error {
	info := filepath.Join(r.standIn, "info")
	if err := os.Mkdir(info, 0o700); err != nil {
		return err
	}
	for name, from := range map[string]string{"exclude": cmp.Or(r.ignores, r.Common), "attributes": r.main} {
		if err := os.Symlink(filepath.Join(from, "info", name), filepath.Join(info, name)); err != nil {
			return err
		}
	}
	return nil
}

// cloneOnly lists settings with which git runs in a clone. With them, git does not use the clone's lists of
// commits and objects, because the arm can write false ones. Git also refuses names that other operating systems
// treat as .git, because Bring would refuse them later.
var cloneOnly = []setting{
	{"core.protectHFS", "true"},
	{"core.protectNTFS", "true"},
	{"core.commitGraph", "false"},
	{"core.multiPackIndex", "false"},
}
