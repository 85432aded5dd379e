package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/script"
)

// Script reads a script from a commit of the repository that contains `folder`. `base` names the commit. If
// `base` is "", Script uses the commit that is checked out in `folder`. Script returns EInvalid if there is
// no repository or no commit.
func (s Workspaces) Script(ctx context.Context, folder, base, path string) (found script.Script,
	earlier *script.Trusted, diff string, err error) {
	r, err := s.open(ctx, folder)
	if err != nil {
		return found, nil, "", err
	}
	defer r.Close()
	if base == "" {
		base = "HEAD"
	}
	commit, err := commitOf(ctx, r, base)
	if err != nil {
		return found, nil, "", coleo.Errorf(coleo.EInvalid, "%s names no commit of the repository %s", base, r.Work)
	}
	found, there, err := script.Read(ctx, r, commit, path)
	if err == nil && !there {
		err = coleo.Errorf(coleo.ENotFound, "the commit %.12s has no %s: there is nothing to trust", commit, path)
	}
	if err != nil {
		return found, nil, "", err
	}
	earlier, trusted, err := s.Scripts.Trusts.Of(found)
	if err == nil && earlier != nil && !trusted {
		diff, err = found.Diff(ctx, r, *earlier)
	}
	return found, earlier, diff, err
}

// Distrust removes the user's trust in a script of the repository that contains a folder.
func (s Workspaces) Distrust(ctx context.Context, folder, path string) error {
	r, err := s.open(ctx, folder)
	if err != nil {
		return err
	}
	defer r.Close()
	return s.Scripts.Trusts.Distrust(r.Common, path)
}

func (s Workspaces) open(ctx context.Context, folder string) (*git.Repo, error) {
	p, err := s.git()
	if err != nil {
		return nil, err
	}
	r, err := p.Open(ctx, folder)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not in a git repository", folder)
	}
	return r, err
}

// CheckTree runs the project's check script on a tree, such as the result of a merge. `base` is the commit of the
// branch that the merge changes.
//
// The script always comes from `base`, and never from the arm's work. If the tree contains another version of the
// script, or of a file that the script names, CheckTree returns an error. If `base` contains no check script,
// CheckTree does nothing.
//
// The script runs in a temporary folder that contains all files of the tree, and that is not a git repository.
// `common` is the folder with the repository's objects and refs. `id` becomes a part of the output file's name. It
// also becomes a part of the mark by which Coleo recognizes the script's processes later.
func (s Workspaces) CheckTree(ctx context.Context, common, base, tree, id string) error {
	r, err := s.openCommon(ctx, common)
	if err != nil {
		return err
	}
	defer r.Close()
	check, found, err := script.Read(ctx, r, base, script.Check)
	if err != nil || !found {
		return err
	}
	if err := errors.Join(s.Scripts.Trusts.Require(check), check.SameIn(ctx, r, tree)); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(s.scratch(), "check-")
	if err != nil {
		return err
	}
	defer func() { _ = deleteAll(dir) }()
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		return err
	}
	if err := s.writeTree(ctx, common, tree, files, filepath.Join(dir, "index")); err != nil {
		return fmt.Errorf("write the files for %s: %w", script.Check, err)
	}
	return s.Scripts.Run(ctx, script.Start{Script: check, Dir: files,
		Output: filepath.Join(s.Dir, id+".check"+setupSuffix), Mark: script.MarkOf(id), Env: []string{"COLEO_TREE=" + tree}})
}

// writeTree writes the files of a tree into an empty folder.
func (s Workspaces) writeTree(ctx context.Context, common, tree, dir, index string) error {
	r, err := s.openAt(ctx, dir, common)
	if err != nil {
		return err
	}
	defer r.Close()
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := r.Run(ctx, git.Call{Args: []string{"read-tree", tree}, Env: env}); err != nil {
		return err
	}
	_, err = r.Run(ctx, git.Call{Args: []string{"checkout-index", "--all", "--quiet"}, Env: env})
	return err
}
