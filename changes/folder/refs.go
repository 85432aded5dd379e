package folder

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// The names of an arm's refs begin with these constants. Only these refs lead to the commits of
// checkpoints.
const (
	checkpointRefs = "refs/coleo/checkpoints/" // followed by the arm's id, a slash and the checkpoint's number
	baseRefs       = "refs/coleo/base/"        // followed by the arm's id; leads to the commit at which its work began
)

// armID matches an arm's id that may be a part of a ref's name.
var armID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

func checkID(arm string) error {
	if !armID.MatchString(arm) {
		return coleo.Errorf(coleo.EInvalid, "%q is not the id of an arm", arm)
	}
	return nil
}

func checkpointRef(arm string, n int) string { return checkpointRefs + arm + "/" + strconv.Itoa(n) }

// author contains the environment variables that name the author of a checkpoint's commit.
var author = []string{"GIT_AUTHOR_NAME=Coleo", "GIT_AUTHOR_EMAIL=coleo@localhost", "GIT_COMMITTER_NAME=Coleo",
	"GIT_COMMITTER_EMAIL=coleo@localhost"}

// writeCheckpoint makes a commit with the tree c.Tree, and a ref to this commit. It sets c.Commit.
func (f *Folder) writeCheckpoint(ctx context.Context, arm string, c *changes.Checkpoint) error {
	args := []string{"commit-tree", c.Tree, "-F", "-"}
	if c.Parent != "" {
		args = append(args, "-p", c.Parent)
	}
	date := fmt.Sprintf("%d +0000", c.Time.Unix())
	env := append(slices.Clone(author), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	out, err := f.repo.Run(ctx, git.Call{Args: args, Env: env, Stdin: strings.NewReader(changes.Message(*c))})
	if err != nil {
		return err
	}
	c.Commit = strings.TrimSpace(string(out))
	err = f.updateRef(ctx, checkpointRef(arm, c.N), c.Commit, f.noID())
	return err
}

// Checkpoints returns the checkpoints of an arm, the oldest first.
func (f *Folder) Checkpoints(ctx context.Context, arm string) ([]changes.Checkpoint, error) {
	if err := checkID(arm); err != nil {
		return nil, err
	}
	out, err := f.repo.Output(ctx, "for-each-ref",
		"--format=%(refname)%00%(objectname)%00%(parent)%00%(tree)%00%(contents)%00", checkpointRefs+arm+"/")
	if err != nil {
		return nil, err
	}
	const fields = 5
	var list []changes.Checkpoint
	parts := strings.Split(string(out), "\x00")
	for ; len(parts) > fields; parts = parts[fields:] {
		number := strings.TrimPrefix(strings.TrimSpace(parts[0]), checkpointRefs+arm+"/")
		n, err := strconv.Atoi(number)
		c, ok := changes.ReadMessage(parts[4])
		if err != nil || !ok {
			continue // Coleo has not made this commit
		}
		c.N, c.Commit, c.Parent, c.Tree = n, parts[1], parts[2], parts[3]
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y changes.Checkpoint) int { return x.N - y.N })
	return list, nil
}

// checkpoint returns a checkpoint and the previous checkpoint. For the first checkpoint, the
// previous one is nil.
func (f *Folder) checkpoint(ctx context.Context, arm string, n int) (c changes.Checkpoint, before *changes.Checkpoint,
	err error) {
	list, err := f.Checkpoints(ctx, arm)
	if err != nil {
		return c, nil, err
	}
	at := slices.IndexFunc(list, func(c changes.Checkpoint) bool { return c.N == n })
	switch {
	case at < 0:
		return c, nil, coleo.Errorf(coleo.ENotFound, "the arm has no checkpoint %d: 'coleo arm checkpoint list' shows them",
			n)
	case at > 0:
		before = &list[at-1]
	}
	return list[at], before, nil
}

// DiffCheckpoint returns what changed between the previous checkpoint and the checkpoint with the number n. For the
// first checkpoint, it returns what changed since the parent of the checkpoint's commit. DiffCheckpoint returns
// ENotFound if there is no such checkpoint.
func (f *Folder) DiffCheckpoint(ctx context.Context, arm string, n int, w changes.DiffRequest) (changes.Diff, error) {
	c, before, err := f.checkpoint(ctx, arm, n)
	d := changes.Diff{Root: f.Root(), Alias: f.alias(), Head: c.Commit, Time: c.Time, Base: c.Parent, Left: c.Left,
		Files: []changes.File{}}
	if err != nil {
		return d, err
	}
	if before != nil {
		d.Base = before.Commit
	}
	if len(w.Paths) > 0 {
		return d, coleo.Errorf(coleo.EInvalid, "the diff of a checkpoint takes no paths")
	}
	return d, f.compare(ctx, &d, comparison{args: []string{"diff-tree", "-r"},
		trees: []string{f.treeOf(d.Base), c.Tree}, request: w})
}

// prune removes the oldest checkpoints in the list if there are more than MaxCheckpoints. It never removes
// the first one.
func (f *Folder) prune(ctx context.Context, arm string, list []changes.Checkpoint) error {
	for len(list) > MaxCheckpoints {
		old := list[1]
		if err := f.updateRef(ctx, "-d", checkpointRef(arm, old.N), old.Commit); err != nil {
			return err
		}
		list = slices.Delete(slices.Clone(list), 1, 2)
	}
	return nil
}

// Forget removes all refs of an arm. Git deletes their objects after some weeks.
func (f *Folder) Forget(ctx context.Context, arm string) error {
	list, err := f.Checkpoints(ctx, arm)
	if err != nil {
		return err
	}
	base, err := f.commit(ctx, baseRefs+arm)
	if err == nil && base != "" {
		err = f.updateRef(ctx, "-d", baseRefs+arm, base)
	}
	if f.main != nil {
		err = errors.Join(err, f.forgetOutside(ctx, arm))
	}
	for _, c := range list {
		failed := f.updateRef(ctx, "-d", checkpointRef(arm, c.N), c.Commit)
		err = errors.Join(err, failed)
	}
	return err
}

// updateRef moves or deletes one of Coleo's own refs in the arm's repository.
func (f *Folder) updateRef(ctx context.Context, args ...string) error {
	_, err := f.repo.Run(ctx, git.Call{Args: append([]string{"update-ref"}, args...), NoReflog: true})
	return err
}
