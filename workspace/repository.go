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

// LockRepository locks a repository for this process and its gits, so that one merge into it runs
// at a time. If it does not get the lock before ctx ends, it returns EBusy. The lock is a flock, so
// it ends with the last process that has it. The caller must start its gits with the returned
// Workspaces, and must call unlock.
func (s Workspaces) LockRepository(ctx context.Context, common string) (locked Workspaces, unlock func(), err error) {
	s.held, err = s.wait(ctx, fmt.Sprintf("merge-%x.lock", sha256.Sum256([]byte(common))))
	if errors.Is(err, errTaken) {
		return s, nil, coleo.Errorf(coleo.EBusy, "another merge into %s runs: nothing was merged", common)
	}
	return s, func() { s.held.Close() }, err
}

// OpenTree opens the worktree of an arm.
func (s Workspaces) OpenTree(ctx context.Context, w Workspace) (*git.Repo, error) {
	return s.openAt(ctx, w.Path, w.Git)
}

// OpenRepository opens the repository of an arm's worktree, but without a work folder. So git does
// not read a .gitattributes that the arm has written.
func (s Workspaces) OpenRepository(ctx context.Context, w Workspace) (*git.Repo, error) {
	return s.openCommon(ctx, w.Common)
}

// TempDir makes a folder for temporary files. Prune deletes what a kill leaves of it.
func (s Workspaces) TempDir() (string, error) {
	if err := os.MkdirAll(s.scratch(), 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(s.scratch(), "merge-")
}

// CheckedOut returns the work folder that has a branch checked out, or is in a rebase of it. It
// returns "" if there is none. The ref is refs/heads/NAME. One work folder does not count: the one
// with the git folder except.
func CheckedOut(r *git.Repo, ref, except string) (string, error) {
	all, err := r.Worktrees()
	if err != nil {
		return "", err
	}
	if filepath.Base(r.Common) == ".git" || exists(filepath.Join(r.Common, "index")) { // it is not bare
		all = append(all, git.Worktree{Path: r.Common, Git: r.Common, Head: r.MainHead()})
	}
	for _, other := range all {
		if other.Git != except && (other.Head == ref || rebased(other.Git) == ref) {
			return strings.TrimSuffix(other.Path, string(filepath.Separator)+".git"), nil
		}
	}
	return "", nil
}

// mostRef is the size of the largest file with the name of a branch, in bytes.
const mostRef = 8 << 10

// rebased returns the branch that a rebase in a git folder will move, or "".
func rebased(gitDir string) string {
	for _, kind := range []string{"rebase-merge", "rebase-apply"} {
		path := filepath.Join(gitDir, kind, "head-name")
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostRef {
			continue
		}
		if data, err := os.ReadFile(path); err == nil {
			return strings.TrimSpace(string(data))
		}
	}
	return ""
}
