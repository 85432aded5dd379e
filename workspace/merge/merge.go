// Package merge merges the branch of an arm into another branch of its repository.
//
// First it writes a tree and commits to which no ref points yet. Then it moves the branch by one update-ref,
// which fails if somebody else has moved the branch in the meantime. So after a kill at any moment, the branch has
// either its old commit or the merged one.
//
// The package does not change the files, the index or the stash of a work folder, with two exceptions. If it
// commits uncommitted work, it changes the index of the arm's own worktree. With UpdateCheckout, it updates the
// work folder that has the branch checked out. After a kill, Recover puts the files of that work folder back.
//
// The package runs git only through package workspace/git. It never runs `git merge`, `git rebase` or `git
// cherry-pick`, because these commands run hooks, and run git in submodules. The package does not know whether the
// arm is working. Its callers know.
package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/git"
)

const (
	heads = "refs/heads/"
	// tries is the largest number of times that one merge is computed. Coleo computes a merge again if somebody else
	// has moved the branch in the meantime. Only a person's git moves the branch, because Coleo's own merges wait for
	// each other.
	tries = 5
	// mostCommits is the largest number of commits that a rebase replays, and that a result lists.
	mostCommits = 1000
	// mostFiles is the largest number of files, and also of conflicts, in a result.
	mostFiles = 2000
	// mostNames is the largest total size of the file names in a result, in bytes. mostSubject is the largest
	// size of a commit's subject, in bytes. With both bounds, a result fits into a message of the bus.
	mostNames   = 400 << 10
	mostSubject = 200
)

// Options are what the caller adds to a merge. Each field can be nil.
type Options struct {
	// OwnFiles are patterns for the names of files and folders that the arm's agent CLI writes for its own use. A
	// merge omits them if git does not track them. An invalid pattern matches nothing.
	OwnFiles []string
	// Check is called with the merged tree before any branch is moved. `tip` is the present commit of the
	// target branch. If Check returns an error, the merge ends and changes nothing. A dry run does not call
	// Check.
	Check func(ctx context.Context, tip, tree string) error
	// Before is called with the planned merge right before branches are moved. If Before returns an error, the
	// merge ends and changes nothing. If the merge must be computed again, Before is called again.
	Before func(ctx context.Context, m changes.Merged) error
}

// Do merges the branch that is checked out in an arm's worktree. If git finds conflicts, the result contains
// them, nothing is changed, and the error is nil.
//
// Do returns EConflict if the branch to move is checked out. It also does so if the worktree has uncommitted
// work and the request has no message for it. It returns EInvalid if the branch is unknown, if it cannot
// receive the work, or if git does not know the user's name and address.
func Do(ctx context.Context, trees workspace.Workspaces, w workspace.Workspace, request changes.MergeRequest,
	o Options) (changes.Merged, error) {
	if err := checkRequest(&request); err != nil {
		return changes.Merged{}, err
	}
	trees, unlock, err := trees.LockRepository(ctx, w.Common)
	if err != nil {
		return changes.Merged{}, err
	}
	defer unlock()
	recovered := ""
	if !request.DryRun {
		if recovered, err = recoverLocked(ctx, trees, w.Common); err != nil {
			return changes.Merged{}, err
		}
	}
	m, err := doLocked(ctx, job{trees: trees, arm: w, request: request, options: o})
	m.Recovered = recovered
	return m, err
}

// doLocked is like Do, for a caller that has locked the repository.
func doLocked(ctx context.Context, j job) (changes.Merged, error) {
	if j.arm.Clone {
		return doInClone(ctx, j)
	}
	return j.carryOut(ctx)
}

// carryOut carries out the request.
func (j *job) carryOut(ctx context.Context) (changes.Merged, error) {
	defer j.close()
	if err := j.open(ctx); err != nil {
		return changes.Merged{}, err
	}
	step := j.mergeOnce
	if j.request.Way == changes.WayCommit {
		step = j.commitOnly
	}
	for range tries {
		if m, err := step(ctx); !errors.Is(err, errMoved) {
			return m, err
		}
	}
	return changes.Merged{}, coleo.Errorf(coleo.EBusy, "the branch %s keeps moving: nothing was merged; "+
		"try again when nobody commits to it", j.into)
}

func checkRequest(request *changes.MergeRequest) error {
	switch request.Way {
	case "":
		request.Way = changes.WayMerge
	case changes.WayMerge, changes.WaySquash:
	case changes.WayCommit:
		if request.Commit == "" || request.Into != "" || request.Message != "" || request.DryRun || request.UpdateCheckout {
			return coleo.Errorf(coleo.EInvalid, "the method commit takes only a message")
		}
	case changes.WayRebase:
		if request.Message != "" {
			return coleo.Errorf(coleo.EInvalid, "a rebase keeps the messages of the commits, so it takes no message: "+
				"leave the message out")
		}
	default:
		return coleo.Errorf(coleo.EInvalid, "%q is not a method of merging: use merge, squash or rebase", request.Way)
	}
	return nil
}

// errMoved means that a branch has moved since the merge began.
var errMoved = errors.New("the branch has moved")

// job contains the data of one merge.
type job struct {
	trees   workspace.Workspaces
	arm     workspace.Workspace
	request changes.MergeRequest
	options Options
	within  bool // the target branch is in the arm's clone, not in the main repository

	tree   *git.Repo // the arm's worktree
	repo   *git.Repo // the repository, without a work folder
	own    string    // a folder for temporary files
	env    []string  // in a dry run, the environment variables that send new objects to `own`
	branch string    // the arm's branch, without refs/heads/
	into   string    // the target branch, without refs/heads/

	ignored []string // files that git ignores in the work folder that will receive the merged files
}

func (j *job) open(ctx context.Context) error {
	if j.arm.Status != workspace.Ready {
		return coleo.Errorf(coleo.EConflict, "the worktree of arm %s is not ready (%s): nothing was merged", j.arm.Name,
			j.arm.Status)
	}
	var err error
	// OpenTree checks the arm's clone, so it must run before OpenRepository.
	if j.tree, err = j.trees.OpenTree(ctx, j.arm); err != nil {
		return err
	}
	open := j.trees.OpenRepository
	if j.within {
		open = j.trees.OpenCloneRepository
	}
	if j.repo, err = open(ctx, j.arm); err != nil {
		return err
	}
	if j.own, err = j.trees.TempDir(); err != nil {
		return err
	}
	if j.request.DryRun {
		objects := filepath.Join(j.own, "objects")
		if err := os.Mkdir(objects, 0o700); err != nil {
			return err
		}
		others := alternate(filepath.Join(j.repo.Common, "objects"))
		if j.tree.Common != j.repo.Common { // in a clone
			others += string(filepath.ListSeparator) + alternate(filepath.Join(j.tree.Common, "objects"))
		}
		j.env = []string{"GIT_OBJECT_DIRECTORY=" + objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + others}
	}
	return j.branches(ctx)
}

// alternate quotes a path for GIT_ALTERNATE_OBJECT_DIRECTORIES.
func alternate(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

func (j *job) close() {
	for _, r := range []*git.Repo{j.repo, j.tree} {
		if r != nil {
			r.Close()
		}
	}
	if j.own != "" {
		os.RemoveAll(j.own)
	}
}

// run runs git in the repository and returns its output without the last line break.
func (j *job) run(ctx context.Context, args ...string) (string, error) {
	out, err := j.repo.Run(ctx, git.Call{Args: args, Env: j.env})
	return strings.TrimSuffix(string(out), "\n"), err
}

// branches determines the arm's branch and the target branch.
func (j *job) branches(ctx context.Context) error {
	head := j.tree.Head()
	branch, ok := strings.CutPrefix(head, heads)
	if j.tree.Common != j.repo.Common { // the arm has a clone, and its commits were fetched to this branch
		branch, ok = j.arm.Branch, true
	}
	if !ok {
		return coleo.Errorf(coleo.EConflict, "arm %s has no branch checked out in its worktree: nothing was merged; "+
			"let it make a branch of its commit first", j.arm.Name)
	}
	j.branch, j.into = branch, j.request.Into
	if j.request.Way == changes.WayCommit {
		j.into = branch
		return j.checkBranches(ctx)
	}
	if j.into == "" {
		j.into = j.arm.Onto
	}
	if j.into == "" {
		return coleo.Errorf(coleo.EInvalid, "it is not known from which branch the worktree of arm %s was made: "+
			"name a branch with --into", j.arm.Name)
	}
	if j.into == branch {
		return coleo.Errorf(coleo.EInvalid, "arm %s works on the branch %s itself, so there is nothing to merge into it: "+
			"name another branch with --into", j.arm.Name, branch)
	}
	return j.checkBranches(ctx)
}

// checkBranches returns an error if the branches must not be moved.
func (j *job) checkBranches(ctx context.Context) error {
	for _, name := range []string{j.branch, j.into} {
		if !j.repo.CanBeBranch(ctx, name) {
			return coleo.Errorf(coleo.EInvalid, "%q cannot name a branch: nothing was merged", name)
		}
		if j.repo.IsSymbolic(ctx, heads+name) {
			return coleo.Errorf(coleo.EInvalid, "the branch %s is a symbolic ref to another branch: nothing was merged; "+
				"name that branch with --into", name)
		}
	}
	// An arm can write the name of a person's branch into its HEAD. So a merge is also refused if another work
	// folder has this branch checked out.
	path, err := workspace.CheckedOut(j.repo, heads+j.branch, j.arm.Git)
	if err == nil && path != "" {
		err = coleo.Errorf(coleo.EConflict, "arm %s has the branch %s checked out, and so has %s: nothing was merged; "+
			"let the arm work on a branch of its own", j.arm.Name, j.branch, path)
	}
	return err
}

// mergeOnce computes the merge for the present commit of the branch, and then moves the branch. It
// returns errMoved if somebody has moved the branch in the meantime.
func (j *job) mergeOnce(ctx context.Context) (changes.Merged, error) {
	m, work, err := j.prepare(ctx)
	if err != nil || m.Nothing || m.Conflicts != nil || j.request.DryRun {
		return m, nothingMerged(err)
	}
	return m, j.move(ctx, m, work)
}

// nothingMerged adds the words "nothing was merged" to an error of git. It returns an error unchanged that already
// says that nothing was done.
func nothingMerged(err error) error {
	var own *coleo.Error
	var said *git.Error
	code := coleo.EConflict
	if errors.As(err, &own) {
		code = own.Code
	}
	if !errors.As(err, &said) || strings.Contains(err.Error(), "nothing was") {
		return err
	}
	return coleo.Errorf(code, "nothing was merged: %w", err)
}

// prepare computes the merge for the present commit of the target branch. It moves no branch.
func (j *job) prepare(ctx context.Context) (changes.Merged, work, error) {
	m := changes.Merged{DryRun: j.request.DryRun, MergeFrom: changes.MergeFrom{Way: j.request.Way, Branch: j.branch,
		Into: j.into}}
	tip, err := j.target(ctx, &m)
	if err != nil {
		return m, work{}, err
	}
	work, err := j.work(ctx)
	if err != nil {
		return m, work, err
	}
	m.Commit, m.Committed = work.commit, work.made
	if m.Nothing, err = j.hasAncestor(ctx, tip, m.Commit); err != nil || m.Nothing {
		return unchangedResult(m, work), work, err
	}
	after, err := j.compute(ctx, &m, tip)
	if err != nil || m.Conflicts != nil {
		return unchangedResult(m, work), work, err
	}
	if m.Nothing = after == tip; m.Nothing {
		return unchangedResult(m, work), work, nil
	}
	m.After = after
	return m, work, j.files(ctx, &m, tip)
}

// unchangedResult returns the result of a merge that changes nothing. In this result, there is no commit of
// uncommitted work and no updated work folder.
func unchangedResult(m changes.Merged, w work) changes.Merged {
	m.Commit, m.Committed, m.Updated = w.head, "", ""
	return m
}

// target returns the commit onto which the arm's work is merged. If the target branch exists, target also sets
// m.Before to this commit.
func (j *job) target(ctx context.Context, m *changes.Merged) (tip string, err error) {
	if tip, err = commitOf(ctx, j.repo, heads+j.into); err == nil {
		m.Before = tip
		if j.request.DryRun {
			m.CheckedOut, err = workspace.CheckedOut(j.repo, heads+j.into, "")
			return tip, err
		}
		if err := j.checkFree(ctx); err != nil {
			return tip, err
		}
		m.Updated, err = workspace.CheckedOut(j.repo, heads+j.into, "")
		return tip, err
	}
	if j.request.Into == "" || j.arm.Onto == "" || j.arm.Onto == j.into {
		return "", coleo.Errorf(coleo.EInvalid, "the repository has no branch %s: nothing was merged; name one with --into",
			j.into)
	}
	if tip, err = commitOf(ctx, j.repo, heads+j.arm.Onto); err != nil {
		return "", coleo.Errorf(coleo.EInvalid, "the branch %s would begin at the branch %s, which is gone: nothing was "+
			"merged; name a branch that exists with --into", j.into, j.arm.Onto)
	}
	return tip, nil
}

func commitOf(ctx context.Context, r *git.Repo, name string) (string, error) {
	if commit := r.LooseCommit(name); commit != "" {
		return commit, ctx.Err()
	}
	out, err := r.Output(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// hasAncestor reports whether `other` is the given commit or one of its ancestors.
func (j *job) hasAncestor(ctx context.Context, commit, other string) (bool, error) {
	_, err := j.run(ctx, "merge-base", "--is-ancestor", other, commit)
	if git.ExitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// files stores in m the files that change in the target branch.
func (j *job) files(ctx context.Context, m *changes.Merged, tip string) error {
	out, err := j.repo.Run(ctx, git.Call{Env: j.env,
		Args: []string{"diff-tree", "-r", "--raw", "--numstat", "--no-abbrev", "-z", "--find-renames", tip, m.After}})
	if err != nil {
		return err
	}
	entries, lines, _, err := changes.ParseRaw(out)
	if err != nil {
		return err
	}
	size := 0
	for n, e := range entries {
		if size += len(e.Path) + len(e.OldPath); n == mostFiles || size > mostNames {
			m.Cut = fmt.Sprintf("%d more files changed", len(entries)-n)
			entries = entries[:n]
			break
		}
	}
	m.Files = changes.Assemble(entries, lines, nil, map[string]changes.Entry{}, map[string]bool{})
	return nil
}
