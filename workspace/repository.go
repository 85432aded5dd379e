package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// LockRepository locks a repository for this process and its git processes, so that merges into it run one after
// another. It returns EBusy if ctx ends before it has the lock. The lock is a flock, so it ends with the last process
// that holds it. The caller must start its git processes with the returned Workspaces, and must call `unlock`.
func (s Workspaces) LockRepository(ctx context.Context, common string) (locked Workspaces, unlock func(), err error) {
	s.held, err = s.wait(ctx, fmt.Sprintf("merge-%x.lock", sha256.Sum256([]byte(common))))
	if errors.Is(err, errTaken) {
		return s, nil, coleo.Errorf(coleo.EBusy, "another merge into %s runs: nothing was merged", common)
	}
	return s, func() { s.held.Close() }, err
}

// OpenTree opens an arm's worktree or clone. It returns EConflict if the arm has replaced the git folder of its
// clone.
func (s Workspaces) OpenTree(ctx context.Context, w Workspace) (*git.Repo, error) {
	if err := checkClone(ctx, w); err != nil {
		return nil, err
	}
	r, err := s.openOwn(ctx, w)
	if err != nil {
		return nil, err
	}
	if w.Clone && r.Common != w.Git || !w.Clone && !sameFolder(r.Common, w.Common) { // the arm has changed its .git
		r.Close()
		return nil, coleo.Errorf(coleo.EConflict, "%s points to %s, which is not the "+
			"repository of arm %s: git is not run there", w.Git, r.Common, w.Name)
	}
	return r, nil
}

// openOwn opens the worktree or the clone of an arm.
func (s Workspaces) openOwn(ctx context.Context, w Workspace) (*git.Repo, error) {
	if !w.Clone {
		return s.openAt(ctx, w.Path, w.Git)
	}
	p, err := s.git()
	if err != nil {
		return nil, err
	}
	return p.OpenClone(ctx, w.asClone())
}

// asClone returns the description of the clone for package git.
func (w Workspace) asClone() git.Clone {
	return git.Clone{Work: w.Path, Git: w.Git, Main: w.Common, Arm: w.ArmID(), Begin: w.begin()}
}

func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	other, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(one, other)
}

// OpenRepository opens the repository of an arm's worktree, but without the work folder. So git does not read a
// .gitattributes file that the arm has written.
func (s Workspaces) OpenRepository(ctx context.Context, w Workspace) (*git.Repo, error) {
	return s.openCommon(ctx, w.Common)
}

// OpenCloneRepository is like OpenRepository, but opens the repository of an arm's clone. The caller must first
// open the clone with OpenTree, which checks the clone.
func (s Workspaces) OpenCloneRepository(ctx context.Context, w Workspace) (*git.Repo, error) {
	return s.OpenCloneWith(ctx, w, w.Git)
}

// OpenCloneWith is like OpenCloneRepository, but opens the repository with the work folder `work`.
func (s Workspaces) OpenCloneWith(ctx context.Context, w Workspace, work string) (*git.Repo, error) {
	p, err := s.git()
	if err != nil {
		return nil, err
	}
	c := w.asClone()
	c.Work = work
	return p.OpenClone(ctx, c)
}

// OpenFolder opens a person's work folder, for example the main work folder of a repository.
func (s Workspaces) OpenFolder(ctx context.Context, folder string) (*git.Repo, error) {
	return s.open(ctx, folder)
}

// Changed returns everything in a person's work folder that is uncommitted, untracked, ignored or in progress.
// It ignores commits.
func (s Workspaces) Changed(ctx context.Context, folder string) (Unsaved, error) {
	var u Unsaved
	r, err := s.open(ctx, folder)
	if err != nil {
		return u, err
	}
	defer r.Close()
	if err := os.MkdirAll(s.scratch(), 0o700); err != nil {
		return u, err
	}
	u.InProgress = inProgress(r.Git)
	head, err := findCommit(ctx, r, "HEAD")
	if err != nil {
		return u, err
	}
	return u, s.unsavedFiles(ctx, r, head, Workspace{Path: r.Work, Git: r.Git}, &u)
}

// InProgress returns the names of the unfinished operations in a person's work folder, such as "merge".
func (s Workspaces) InProgress(ctx context.Context, folder string) ([]string, error) {
	r, err := s.open(ctx, folder)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return inProgress(r.Git), nil
}

// TempDir makes a folder for temporary files. If a kill leaves the folder behind, Prune deletes it.
func (s Workspaces) TempDir() (string, error) {
	if err := os.MkdirAll(s.scratch(), 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(s.scratch(), "merge-")
}

// CheckedOut returns a work folder in which the branch is checked out or is being rebased, or "" if there is
// none. `ref` is the full name of the branch, such as refs/heads/NAME. CheckedOut ignores the work folder
// whose git folder is `except`.
func CheckedOut(r *git.Repo, ref, except string) (string, error) {
	all, err := r.Worktrees()
	if err != nil {
		return "", err
	}
	if filepath.Base(r.Common) == ".git" || exists(filepath.Join(r.Common, "index")) { // the repository is not bare
		all = append(all, git.Worktree{Path: r.Common, Git: r.Common, Head: r.MainHead()})
	}
	for _, other := range all {
		if other.Git != except && (other.Head == ref || rebasedBranch(other.Git) == ref) {
			return strings.TrimSuffix(other.Path, string(filepath.Separator)+".git"), nil
		}
	}
	return "", nil
}

// mostRef is the largest size, in bytes, of a file that contains the name of a branch.
const mostRef = 8 << 10

// rebasedBranch returns the branch that an unfinished rebase in a git folder will move, or "" if there is none.
func rebasedBranch(gitDir string) string {
	for _, kind := range []string{"rebase-merge", "rebase-apply"} {
		path := filepath.Join(gitDir, kind, "head-name")
		if data, err := git.ReadRegular(path, mostRef); err == nil {
			return strings.TrimSpace(string(data))
		}
	}
	return ""
}

// Commit returns the commit with the given name in the repository of a folder. If the name is "",
// Commit returns the commit that is checked out in the folder. It returns ENotFound if the folder
// is in no repository, and EInvalid if no commit has the name.
func (s Workspaces) Commit(ctx context.Context, folder, name string) (string, error) {
	program, err := s.git()
	if err != nil {
		return "", err
	}
	r, err := program.Open(ctx, folder)
	if err != nil {
		return "", err
	}
	defer r.Close()
	if name == "" {
		name = "HEAD"
	}
	commit, err := commitOf(ctx, r, name)
	if err != nil {
		return "", coleo.Errorf(coleo.EInvalid,
			"%q is not a commit in the repository of %s: commit something, or name another commit",
			name, folder)
	}
	return commit, nil
}

func commitOf(ctx context.Context, r *git.Repo, name string) (string, error) {
	if strings.HasPrefix(name, "-") {
		return "", coleo.Errorf(coleo.EInvalid, "%q names no commit", name)
	}
	if commit := r.LooseCommit(name); commit != "" {
		return commit, ctx.Err()
	}
	out, err := r.Output(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// CommittedBranch returns the branch that is checked out in an arm's worktree, without refs/heads/. For a
// clone, it first fetches the clone's commits, and returns the branch to which it has fetched them. It returns
// EConflict if no branch is checked out, if there is uncommitted work, or if an operation such as a merge is
// unfinished.
func (s Workspaces) CommittedBranch(ctx context.Context, w Workspace) (string, error) {
	r, err := s.OpenTree(ctx, w)
	if err != nil {
		return "", err
	}
	defer r.Close()
	branch, ok := strings.CutPrefix(r.Head(), heads)
	if w.Clone {
		branch = w.Branch
		if _, err := s.FetchWork(ctx, w); err != nil {
			return "", fmt.Errorf("nothing was pushed: %w", err)
		}
	} else if !ok {
		return "", coleo.Errorf(coleo.EConflict, "the worktree of arm %s has no branch checked out: nothing was pushed; "+
			"the arm must first make a branch of its commit", w.Name)
	}
	u, err := s.Uncommitted(ctx, w)
	if err != nil {
		return "", err
	}
	u = Unsaved{Uncommitted: u.Uncommitted, Untracked: u.Untracked, InProgress: u.InProgress}
	if !u.Empty() {
		return "", coleo.Errorf(coleo.EConflict, "the worktree of arm %s has %s: nothing was pushed; "+
			"--commit MESSAGE commits all of it first", w.Name, u)
	}
	return branch, nil
}
