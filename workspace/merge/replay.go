package merge

import (
	"context"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// commit is a commit that a rebase replays on top of another commit.
type commit struct {
	id, parent, tree string
	author           []string // environment variables for git that name the author
	named            bool     // the author has a name that git accepts
	message          string
}

// read reads a commit that has one parent.
func (j *job) read(ctx context.Context, id string) (commit, error) {
	out, err := j.repo.Run(ctx, git.Call{Env: j.env, Args: []string{"log", "-1", "--no-patch", "--no-notes",
		"--encoding=UTF-8", "--date=raw", "--format=%P%x00%T%x00%an%x00%ae%x00%ad%x00%B", id}})
	if err != nil {
		return commit{}, err
	}
	const fields = 6
	f := strings.SplitN(string(out), "\x00", fields)
	if len(f) < fields {
		return commit{}, coleo.Errorf(coleo.EInternal, "git log printed %q for the commit %s", out, id)
	}
	return commit{id: id, parent: f[0], tree: f[1], message: strings.TrimSuffix(f[5], "\n"),
		named:  strings.Trim(f[2], noName) != "",
		author: []string{"GIT_AUTHOR_NAME=" + f[2], "GIT_AUTHOR_EMAIL=" + f[3], "GIT_AUTHOR_DATE=@" + f[4]}}, nil
}

// noName contains the characters that git removes from the ends of an author's name. Git refuses a name that has no
// other characters.
const noName = " .,:;<>\"\\'\t\r\n"

// replayAll replays all commits of the arm on top of the commit `tip`. It returns the last new commit.
func (j *job) replayAll(ctx context.Context, m *changes.Merged, tip string) (string, error) {
	before := tip
	for n := len(m.Commits) - 1; n >= 0; n-- {
		c, err := j.read(ctx, m.Commits[n].ID)
		if err != nil {
			return "", err
		}
		if err := j.checkReplay(m, c); err != nil {
			return "", err
		}
		if tip, err = j.replay(ctx, m, tip, c); err != nil || m.Conflicts != nil {
			return "", err
		}
	}
	if tip == before {
		return tip, nil
	}
	tree, err := j.treeOf(ctx, tip)
	if err == nil {
		err = j.check(ctx, before, tree)
	}
	return tip, err
}

// checkReplay returns an error if the branch has too many commits, or if it has no commit in common
// with the target. It also returns an error for a merge commit, because a replay would lose the
// conflicts that such a commit has resolved.
func (j *job) checkReplay(m *changes.Merged, c commit) error {
	if m.Cut != "" {
		return coleo.Errorf(coleo.EInvalid, "the branch %s has more than %d commits to rebase: nothing was merged; "+
			"merge or squash it", m.Branch, mostCommits)
	}
	if strings.Contains(c.parent, " ") {
		return coleo.Errorf(coleo.EInvalid, "the branch %s has a merge commit (%.12s), "+
			"which a rebase would lose: nothing was "+
			"merged; merge or squash it", m.Branch, c.id)
	}
	if c.parent == "" {
		return coleo.Errorf(coleo.EInvalid, "the branch %s has no commit in common with %s: nothing was merged", m.Branch,
			m.Into)
	}
	return nil
}

// coleoself contains the variables that name Coleo as the author of commits to which no ref will
// point.
var coleoself = []string{"GIT_AUTHOR_NAME=Coleo", "GIT_AUTHOR_EMAIL=coleo@localhost", "GIT_AUTHOR_DATE=@0 +0000",
	"GIT_COMMITTER_NAME=Coleo", "GIT_COMMITTER_EMAIL=coleo@localhost", "GIT_COMMITTER_DATE=@0 +0000"}

// replay makes a commit again on top of the commit `tip`, and returns the new commit. It skips a commit whose
// changes `tip` already contains.
//
// Git before 2.40 has no option for the merge base of merge-tree. So replay merges a stand-in for `tip`,
// which has the files of `tip` but the parent of the replayed commit. Then this parent becomes the merge
// base.
func (j *job) replay(ctx context.Context, m *changes.Merged, tip string, c commit) (string, error) {
	if c.parent == tip {
		return c.id, nil
	}
	tipTree, err := j.treeOf(ctx, tip)
	if err != nil {
		return "", err
	}
	standIn, err := j.commitTree(ctx, tipTree, "stand-in\n", coleoself, c.parent)
	if err != nil {
		return "", err
	}
	tree, conflicts, err := j.mergeTree(ctx, standIn, c.id, c.id)
	if setConflicts(m, conflicts); err != nil || conflicts != nil {
		return "", err
	}
	if tree == tipTree {
		if empty, err := j.sameTree(ctx, c.tree, c.parent); err != nil || !empty {
			return tip, err
		}
	}
	if !c.named {
		return "", coleo.Errorf(coleo.EInvalid, "the commit %.12s has no name of an author, so git cannot make it again: "+
			"nothing was merged; merge or squash it", c.id)
	}
	made, err := j.commitTree(ctx, tree, c.message, c.author, tip)
	if err != nil {
		return "", fmt.Errorf("make the commit %.12s again: %w", c.id, err)
	}
	return made, nil
}
