package git

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Clone is a clone of a user's repository. An arm in a sandbox works in it, and can write to its git folder.
type Clone struct {
	Work, Git string
	Main      string // the common folder of the user's repository
	Arm       string // the id of the arm for which the clone was made
	Begin     string // the commit at which that arm's work begins
	// Ignores is the git folder whose list info/exclude names files that git ignores. If it is "", the clone's own list
	// holds, which the arm can write.
	Ignores string
}

// OpenClone opens a clone. It is like OpenAt, but the arm's settings do not change what git sees in the files.
// Otherwise the arm could hide a file, a mode or a line end. So the user's repository says how git reads files,
// and which attributes they have besides those in .gitattributes. Git also uses no list of commits in the
// clone, because the arm can write a false one.
func (p Program) OpenClone(ctx context.Context, c Clone) (*Repo, error) {
	return p.openAt(ctx, c.Work, c.Git, c)
}

// ofClone lists the beginnings of the settings that a clone has for itself. They say which format its git
// folder has, and which remotes and branches there are.
var ofClone = []string{"core.repositoryformatversion", "core.bare", "extensions.", "remote.", "branch."}

// notInClone lists the beginnings of settings that hold in no clone. A clone always has all files.
var notInClone = []string{"core.sparsecheckout", "index.sparse"}

// cloneSettings returns the settings that hold in a clone. The parameter own are those that the arm can write.
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

// linkInfo makes the folder info of a clone's stand-in.
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

// cloneOnly lists the settings with which git runs in a clone. Git finds commits and objects itself. It takes no
// names that another system takes for .git, because Bring refuses them.
var cloneOnly = []setting{
	{"core.protectHFS", "true"},
	{"core.protectNTFS", "true"},
	{"core.commitGraph", "false"},
	{"core.multiPackIndex", "false"},
}
