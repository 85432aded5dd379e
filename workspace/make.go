package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/script"
)

// Order describes the worktree that an arm needs.
type Order struct {
	ID     string // the arm's id
	Name   string // the arm's name
	Folder string // a folder of the repository; the arm works in the corresponding folder of the worktree
	// Branch is the branch to check out, which may already exist. If Branch is "", the worktree has a new
	// branch that is named after the arm. If Branch is pr/NUMBER and no branch has this name, the new branch begins at
	// the head of the pull request with this number. Make fetches that head from the remote.
	Branch string
	// Base is where a new branch begins: a commit, a branch or a tag. If Base is "", the branch begins at the
	// commit that is checked out in Folder.
	Base string
	// Clone asks for a clone instead of a worktree. An arm in a sandbox needs a clone.
	Clone bool
	// NoSetup skips the project's set-up script.
	NoSetup bool
	// With lists folders of further repositories. The arm has a worktree of each, and works in the folder above
	// them. Base and a pull request apply only to the first repository.
	With []string
}

// Make makes the worktree of an arm. If the arm already has one, Make returns it. If somebody has deleted the
// worktree's folder, Make makes the worktree again on the same branch. If the order names further repositories,
// Make makes all of their worktrees or none, and returns the first: see Group. If the project has a set-up
// script, Make runs it.
//
// Make returns EInvalid if the folder is in no repository, or if the branch or the base is wrong. It returns
// EConflict if the branch is checked out elsewhere, or if the folder of the worktree already exists. If the
// set-up script is not trusted, Make returns EForbidden.
//
// After an error, Make leaves nothing of a new worktree behind. But if the arm has had the worktree before, its
// record stays, so that a later Make takes the same branch.
func (s Workspaces) Make(ctx context.Context, o Order) (Workspace, error) {
	s, unlock, err := s.lock(ctx, o.ID)
	if err != nil {
		return Workspace{}, err
	}
	defer unlock()
	w, err := s.read(o.ID)
	if w.Arm != "" {
		return Workspace{}, coleo.Errorf(coleo.EConflict, "the worktree of arm %s in %s has the id %s: nothing was made; "+
			"start an arm with another id", w.Arm, w.Path, o.ID)
	}
	if len(o.With) > 0 || w.Top != "" {
		return s.makeSeveral(ctx, o)
	}
	if err == nil && w.Status != Ready {
		if err := s.mend(ctx, w); err != nil {
			return w, err
		}
		w, err = s.read(o.ID)
	}
	again := err == nil
	switch {
	case again && exists(w.Path):
		return w, checkFits(w, o)
	case again: // make the worktree again, because somebody has deleted its folder
		if o.Branch == "" {
			o.Branch = w.Branch
		}
		if err := s.clear(ctx, w); err != nil {
			return w, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return w, err
	}
	r, err := s.openSource(ctx, o.Folder)
	if err != nil {
		return w, err
	}
	defer r.Close()
	if again {
		w, err = s.planAgain(ctx, r, o, w, s.worktreeFolder)
	} else {
		w, err = s.plan(ctx, r, o, s.worktreeFolder)
	}
	if err != nil {
		return w, err
	}
	setup, err := s.setupOf(ctx, r, w, o)
	if err != nil {
		return w, err
	}
	if err := s.carryOut(ctx, r, setup, &w); err != nil {
		return w, errors.Join(err, s.undo(context.WithoutCancel(ctx), w))
	}
	return w, nil
}

// openSource opens the repository from which a worktree is made.
func (s Workspaces) openSource(ctx context.Context, folder string) (*git.Repo, error) {
	program, err := s.git()
	if err != nil {
		return nil, err
	}
	r, err := program.Open(ctx, folder)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return nil, coleo.Errorf(coleo.EInvalid,
			"%s is not in a git repository, so it can have no worktree: leave out --worktree, or run 'git init'", folder)
	}
	return r, err
}

// checkFits returns an error if an arm's existing worktree does not fit an order.
func checkFits(w Workspace, o Order) error {
	if o.Clone && !w.Clone {
		return coleo.Errorf(coleo.EConflict, "arm %s has a worktree, in which git cannot commit inside a sandbox: nothing "+
			"was started; start it without --sandbox, or remove the arm and start a new one", w.Name)
	}
	if o.Branch != "" && o.Branch != w.Branch {
		return coleo.Errorf(coleo.EConflict, "arm %s has a worktree on the branch %s already: nothing was started", w.Name,
			w.Branch)
	}
	if at := (git.Worktree{Path: w.Path, Git: w.Git}); at.Gone() {
		return coleo.Errorf(coleo.EConflict, "%s is no longer the worktree of arm %s, because its .git was changed: "+
			"nothing was started; 'coleo arm remove %s --force' keeps everything in it", w.Path, w.Name, w.Name)
	}
	return nil
}

// plan decides which worktree to make. It calls `place` to get the path of the worktree's folder. plan does not make
// the worktree yet.
func (s Workspaces) plan(ctx context.Context, r *git.Repo, o Order,
	place func(Workspace) (string, error)) (Workspace, error) {
	w := Workspace{ID: o.ID, Name: o.Name, Status: Making, Common: r.Common, From: r.Work, Clone: o.Clone,
		Created: s.Now().UTC()}
	folder, err := filepath.EvalSymlinks(o.Folder)
	if err != nil {
		return w, coleo.Errorf(coleo.EInvalid, "%s is not a folder: %w", o.Folder, err)
	}
	if w.Folder, err = filepath.Rel(r.Work, folder); err != nil {
		return w, err
	}
	if w.Folder == "." {
		w.Folder = ""
	}
	if err := s.chooseBranch(ctx, r, o, &w); err != nil {
		return w, err
	}
	if w.Path, err = place(w); err != nil {
		return w, err
	}
	w.Git = w.gitFolder()
	return w, errors.Join(checkNew(w), s.remember(w.Common))
}

// checkNew returns EConflict if the repository already has a worktree with this id although there is no record
// of it.
func checkNew(w Workspace) error {
	if exists(w.Git) {
		return coleo.Errorf(coleo.EConflict, "the repository has a worktree in %s of "+
			"which Coleo has no record: nothing was made; "+
			"'git worktree list' shows where it is", w.Git)
	}
	return nil
}

// chooseBranch sets the branch of a new worktree, the commit at which the worktree starts, and whether Coleo
// makes the branch.
func (s Workspaces) chooseBranch(ctx context.Context, r *git.Repo, o Order, w *Workspace) error {
	base := o.Base
	if base == "" {
		base = "HEAD"
	}
	start, err := commitOf(ctx, r, base)
	if err != nil && o.Base == "" {
		return coleo.Errorf(coleo.EInvalid, "the repository %s has no commit yet, so it can have no worktree", r.Work)
	}
	if err != nil {
		return coleo.Errorf(coleo.EInvalid, "--base %s names no commit of the repository %s", o.Base, r.Work)
	}
	w.Start, w.MadeBranch, w.Onto = start, true, startBranch(ctx, r, o, start)
	if o.Branch == "" {
		w.Branch, err = freeBranch(ctx, r, ownBranch(o.Name))
		return err
	}
	w.Branch = o.Branch
	if !r.CanBeBranch(ctx, o.Branch) {
		return coleo.Errorf(coleo.EInvalid, "%q cannot name a branch", o.Branch)
	}
	tip, err := commitOf(ctx, r, w.ref())
	switch {
	case err != nil && pullNumber(o.Branch) > 0:
		return s.fromPull(ctx, r, o, w)
	case err != nil && o.Base == "":
		return fromRemote(ctx, r, w)
	case err != nil:
		return nil
	case o.Base != "":
		return coleo.Errorf(coleo.EInvalid, "the branch %s exists, so "+
			"--base %s would have no effect: leave it out", o.Branch, o.Base)
	}
	if r.IsSymbolic(ctx, w.ref()) {
		return coleo.Errorf(coleo.EInvalid, "the branch %s is a symbolic ref to another branch: nothing was made; name that "+
			"branch", o.Branch)
	}
	w.Start, w.MadeBranch = tip, false
	if pullNumber(o.Branch) > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("the branch %s exists already, so the "+
			"arm works on it: no pull request was fetched", o.Branch))
	}
	return checkFree(r, w.ref())
}

// ownBranch returns the name of the branch that Coleo makes for an arm, if nobody names one.
func ownBranch(arm string) string { return "coleo/" + arm }

// startBranch returns the branch on which the work begins, or "" if it begins on no branch. If the order's base names a
// branch, startBranch returns this branch. If the base is "", or is the newest commit of the branch that is checked out
// in the user's work folder, startBranch returns the checked-out branch. `start` is the commit of the base.
func startBranch(ctx context.Context, r *git.Repo, o Order, start string) string {
	head := r.Head()
	if o.Base != "" {
		if _, failed := commitOf(ctx, r, heads+o.Base); failed == nil {
			head = heads + o.Base
		} else if tip, failed := commitOf(ctx, r, head); failed != nil || start != tip {
			return ""
		}
	}
	branch, ok := strings.CutPrefix(head, heads)
	if !ok || branch == o.Branch {
		return ""
	}
	return branch
}

// fromRemote makes a new branch begin at the remote branch with the same name. It returns EConflict if several
// remotes have such a branch at different commits.
func fromRemote(ctx context.Context, r *git.Repo, w *Workspace) error {
	out, err := r.Output(ctx, "for-each-ref", "--format=%(objectname) %(refname:lstrip=3)", "refs/remotes")
	if err != nil {
		return err
	}
	var tips []string
	for line := range strings.Lines(string(out)) {
		if tip, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == w.Branch && !slices.Contains(tips, tip) {
			tips = append(tips, tip)
		}
	}
	switch len(tips) {
	case 0:
	case 1:
		w.Start = tips[0]
	default:
		return coleo.Errorf(coleo.EConflict, "several remotes have a branch %s: name one with --base", w.Branch)
	}
	return nil
}

// mostBranches is how many names are tried in the search for a free branch name.
const mostBranches = 1000

// freeBranch returns `name` if no branch has this name. Otherwise it returns the first free name of
// `name`-2, `name`-3 and so on.
func freeBranch(ctx context.Context, r *git.Repo, name string) (string, error) {
	if !r.CanBeBranch(ctx, name) {
		return "", coleo.Errorf(coleo.EInvalid, "%q cannot name a branch: name one with --worktree=BRANCH", name)
	}
	if !r.MayHave(heads+name) && !r.MayHave(heads+filepath.Dir(name)) {
		return name, nil
	}
	out, err := r.Output(ctx, "for-each-ref", "--format=%(refname)", heads+name+"*", heads+filepath.Dir(name))
	if err != nil {
		return "", err
	}
	taken := strings.Fields(string(out))
	if slices.Contains(taken, heads+filepath.Dir(name)) {
		return "", coleo.Errorf(coleo.EConflict, "the branch %s is in the way of the branch %s: name one with "+
			"--worktree=BRANCH",
			filepath.Dir(name), name)
	}
	for n := 1; n <= mostBranches; n++ {
		next := name
		if n > 1 {
			next = fmt.Sprintf("%s-%d", name, n)
		}
		if !slices.Contains(taken, heads+next) {
			return next, nil
		}
	}
	return "", coleo.Errorf(coleo.EConflict, "%d branches are called %s: name one with --worktree=BRANCH",
		mostBranches, name)
}

// checkFree returns an error if a work folder has the branch checked out.
func checkFree(r *git.Repo, ref string) error {
	path, err := CheckedOut(r, ref, "")
	if err == nil && path != "" {
		return coleo.Errorf(coleo.EConflict, "the branch %s is checked out in %s: choose another one",
			strings.TrimPrefix(ref, heads), path)
	}
	return err
}

// worktreeFolder returns the folder of a new worktree.
func (s Workspaces) worktreeFolder(w Workspace) (string, error) {
	main := strings.TrimSuffix(w.Common, string(filepath.Separator)+".git")
	repo := strings.TrimSuffix(filepath.Base(main), ".git")
	if s.Path == "" {
		path := filepath.Join(s.Dir, "trees", repo+"-"+w.Name)
		if _, err := os.Lstat(path); err == nil {
			path += "-" + w.ID
		}
		return path, nil
	}
	path := strings.NewReplacer("{{repo}}", repo, "{{arm}}", w.Name,
		"{{branch}}", strings.ReplaceAll(w.Branch, "/", "-")).Replace(s.Path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(main, path)
	}
	if _, err := os.Lstat(path); err == nil {
		return path, coleo.Errorf(coleo.EConflict, "%s exists already: no worktree was made; "+
			"'path' of [workspace] in config.toml says where worktrees are made", path)
	}
	return path, nil
}

// carryOut makes the planned worktree of an arm with one repository.
func (s Workspaces) carryOut(ctx context.Context, r *git.Repo, setup *script.Script, w *Workspace) error {
	if err := os.MkdirAll(filepath.Dir(w.Path), 0o700); err != nil {
		return err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(w.Path))
	if err != nil {
		return err
	}
	w.Path = filepath.Join(parent, filepath.Base(w.Path))
	w.Git = w.gitFolder()
	if err := s.write(*w); err != nil {
		return err
	}
	if err := s.fill(ctx, r, w); err != nil {
		return err
	}
	if err := s.setUp(ctx, setup, w); err != nil {
		return err
	}
	w.Status, w.Again = Ready, false
	return s.write(*w)
}

// fill makes the branch, the folder and the files of a worktree whose record is written.
func (s Workspaces) fill(ctx context.Context, r *git.Repo, w *Workspace) error {
	if w.MadeBranch {
		_, err := r.Output(ctx, "update-ref", "--create-reflog", "-m", madeMessage(*w), w.ref(), w.Start, noCommit(w.Start))
		if err != nil {
			return coleo.Errorf(coleo.EConflict, "the branch %s could not be made: %w", w.Branch, err)
		}
	}
	if err := s.addTree(ctx, r, *w); err != nil {
		return err
	}
	tree, err := s.OpenTree(ctx, *w)
	if err != nil {
		return err
	}
	defer tree.Close()
	if _, err := tree.Output(ctx, "reset", "--hard", "--quiet"); err != nil {
		return checkoutError(*w, err)
	}
	empty, err := s.fillSubmodules(ctx, r, tree, "")
	if err != nil {
		return err
	}
	if err := s.noteMissing(ctx, tree, empty, w); err != nil {
		return err
	}
	if info, err := os.Stat(w.Workdir()); err != nil || !info.IsDir() {
		return coleo.Errorf(coleo.EInvalid, "the branch %s has no folder %s: start the arm in a folder that it has", w.Branch,
			w.Folder)
	}
	return s.putFiles(w)
}

// madeMessage returns a message that Coleo writes into the reflog of a new branch. By this message, undo
// recognizes that Coleo has made the branch.
func madeMessage(w Workspace) string { return "coleo: worktree of " + w.ID }

// noCommit returns the id that stands for a missing ref. This id consists of zeros, and is as long as the id
// `like`.
func noCommit(like string) string { return strings.Repeat("0", len(like)) }
