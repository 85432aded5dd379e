package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// This file fills submodules, that is, it checks out their files. It also notes which files a new
// worktree lacks.

const (
	// lfsPointer is the beginning of a file that stands for a file of Git LFS, according to version 1 of the
	// specification.
	lfsPointer = "version https://git-lfs.github.com/spec/v1\n"
	// mostAttributes is how many bytes of a .gitattributes file are searched. Git itself ignores a larger
	// file.
	mostAttributes = 100 << 20
)

// checkoutError makes the error of a failed checkout clearer if a filter of Git LFS has failed.
func checkoutError(w Workspace, err error) error {
	var said *git.Error
	if errors.As(err, &said) && (strings.Contains(said.Stderr, "filter lfs failed") ||
		strings.Contains(said.Stderr, "git-lfs")) {
		if strings.Contains(said.Stderr, "not found") || strings.Contains(said.Stderr, "No such file") {
			return coleo.Errorf(coleo.ENotInstalled, "check out %s: your git configuration names a filter for Git LFS that is "+
				"missing, so nothing was made: install git-lfs, or remove filter.lfs from the configuration: %w", w.Branch, err)
		}
		return fmt.Errorf("check out %s: your filter for Git LFS failed, so nothing was made: %w", w.Branch, err)
	}
	return fmt.Errorf("check out %s: %w", w.Branch, err)
}

// noteMissing notes which files a new worktree lacks. They are the files of empty submodules, and those of
// Git LFS if the user's git has no filter for them.
func (s Workspaces) noteMissing(ctx context.Context, tree *git.Repo, empty []string, w *Workspace) error {
	if why := "the work folder lacks them, or nobody has their commits"; len(empty) > 0 {
		if s.EmptySubmodules {
			why = "config.toml says so"
		}
		w.Notes = append(w.Notes, "submodules are empty in the worktree ("+listed(empty)+"), because "+why+
			": 'git submodule update --init --recursive' there fills them")
	}
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	return noteLFS(ctx, tree, root, w)
}

// fillSubmodules fills (checks out) those submodules of a new worktree that are filled in the work folder from which
// the worktree is made. It returns the paths of the other submodules. Each submodule's repository is in the worktree's
// git folder, so the removal of the worktree also removes the repository.
func (s Workspaces) fillSubmodules(ctx context.Context, from, tree *git.Repo, prefix string) (empty []string,
	err error) {
	// Without this file, there are no submodules. In a large repository, listing them takes time.
	if !exists(filepath.Join(tree.Work, ".gitmodules")) {
		return nil, nil
	}
	links, err := gitlinks(ctx, tree, "HEAD")
	if err != nil || len(links) == 0 {
		return nil, err
	}
	names, err := tree.SubmoduleNames(ctx)
	if err != nil && coleo.ErrorCode(err) != coleo.EInvalid {
		return nil, err
	}
	for _, l := range links {
		source, err := s.filledSource(ctx, from, l, names[l.Path])
		if err != nil {
			return nil, err
		}
		if source == nil {
			empty = append(empty, prefix+l.Path)
			continue
		}
		inner, err := s.fillSubmodule(ctx, source, tree, l, names[l.Path], prefix+l.Path+"/")
		source.Close()
		if coleo.ErrorCode(err) == coleo.EUnsupported {
			inner, err = []string{prefix + l.Path}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("fill the submodule %s: %w; 'submodules = false' below [workspace] in config.toml leaves "+
				"submodules empty", shownName(prefix+l.Path), err)
		}
		empty = append(empty, inner...)
	}
	return empty, nil
}

// filledSource returns the repository of a submodule in the work folder from which a worktree is
// made. It returns nil if the submodule is empty there, or if its repository is not in the usual
// place.
func (s Workspaces) filledSource(ctx context.Context, from *git.Repo, l git.Link, name string) (*git.Repo, error) {
	folder := filepath.Join(from.Work, l.Path)
	if s.EmptySubmodules || name == "" || !filepath.IsLocal(l.Path) || !exists(filepath.Join(folder, ".git")) {
		return nil, nil
	}
	p, err := s.git()
	if err != nil {
		return nil, err
	}
	r, err := p.Open(ctx, folder)
	if err != nil {
		return nil, ctx.Err()
	}
	usual := filepath.Join(from.Git, "modules", name)
	if r.Work != folder || r.Git != usual || r.Common != usual {
		r.Close()
		return nil, nil
	}
	return r, nil
}

// fetchWait is how long the fetch of a submodule's commit may take.
const fetchWait = 5 * time.Minute

// fetchMissing fetches the commit of a submodule into `sub`, the submodule's new repository, if `sub` lacks it. The
// repository is a copy of the user's submodule. fetchMissing fetches from the remote of that submodule, and ignores
// the URLs in .gitmodules. It returns EUnsupported if the commit cannot be fetched.
func (s Workspaces) fetchMissing(ctx context.Context, sub *git.Repo, commit string) error {
	types, err := typesOf(ctx, sub, []string{commit})
	if err != nil || types[commit] == "commit" {
		return err
	}
	urls := sub.Values("remote.origin.url")
	if len(urls) != 1 {
		return coleo.Errorf(coleo.EUnsupported, "no remote has the commit %s", commit)
	}
	limited, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	_, err = sub.Fetch(limited, git.Fetch{URL: urls[0], Ref: commit, Environ: s.Environ, ForSubmodule: true})
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return coleo.Errorf(coleo.EUnsupported, "fetch the commit %s: %w", commit, err)
}

// fillSubmodule fills one submodule and the submodules in it. It returns the paths of those that stay
// empty. It returns EUnsupported if the source lacks objects.
func (s Workspaces) fillSubmodule(ctx context.Context, source, tree *git.Repo, l git.Link, name,
	prefix string) ([]string, error) {
	at := git.Worktree{Path: filepath.Join(tree.Work, l.Path), Git: filepath.Join(tree.Git, "modules", name)}
	for above := filepath.Dir(at.Git); above != filepath.Join(tree.Git, "modules"); above = filepath.Dir(above) {
		if isRepository(above) {
			return nil, coleo.Errorf(coleo.EUnsupported, "%s lies within another repository", at.Git)
		}
	}
	entries, err := os.ReadDir(at.Path)
	if err != nil || len(entries) > 0 || exists(at.Git) {
		return nil, errors.Join(err, coleo.Errorf(coleo.EUnsupported, "%s is not empty, or its repository is there", at.Path))
	}
	if err := source.Copy(ctx, at.Git, l.ID); err != nil {
		return nil, err
	}
	sub, err := s.openAt(ctx, at.Path, at.Git)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	if err := s.fetchMissing(ctx, sub, l.ID); err != nil {
		return nil, errors.Join(err, os.RemoveAll(at.Git))
	}
	if err := at.WriteLink(); err != nil {
		return nil, err
	}
	if _, err := sub.Output(ctx, "reset", "--hard", "--quiet"); err != nil {
		return nil, err
	}
	// A clone has a configuration of its own. In a worktree, the user's configuration already activates the submodule.
	if tree.Git == tree.Common {
		if err := tree.Activate(name); err != nil {
			return nil, err
		}
	}
	return s.fillSubmodules(ctx, source, sub, prefix)
}

// noteLFS notes which files are only pointers to files of Git LFS.
func noteLFS(ctx context.Context, tree *git.Repo, root *os.Root, w *Workspace) error {
	if !tree.MayTrack(".gitattributes") {
		return nil
	}
	out, err := tree.Output(ctx, "ls-files", "-z", "--", ":(glob)**/.gitattributes")
	if err != nil {
		return err
	}
	uses := false
	for _, name := range fields(out) {
		text, err := readBeginning(root, name, mostAttributes)
		uses = uses || err == nil && strings.Contains(text, "filter=lfs")
	}
	if !uses {
		return nil
	}
	all, err := tree.Output(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	out, err = tree.Run(ctx, git.Call{Args: []string{"check-attr", "-z", "--stdin", "filter"},
		Stdin: strings.NewReader(string(all))})
	if err != nil {
		return err
	}
	var pointers []string
	const perFile = 3 // each file has three fields: path, attribute and value
	for words := fields(out); len(words) >= perFile; words = words[perFile:] {
		if words[2] != "lfs" {
			continue
		}
		if text, err := readBeginning(root, words[0], int64(len(lfsPointer))); err == nil && text == lfsPointer {
			pointers = append(pointers, words[0])
		}
	}
	if len(pointers) > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d files of Git LFS are only pointers in the worktree (%s): install git-lfs, "+
			"and run 'git lfs install' for your user, then 'git lfs pull' there", len(pointers), listed(pointers)))
	}
	return nil
}

// readBeginning returns the first bytes of a regular file.
func readBeginning(root *os.Root, name string, most int64) (string, error) {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, fs.ErrInvalid)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	return string(data), err
}

// listed returns the first names of a list for a message.
func listed(names []string) string {
	var shown []string
	for _, name := range names[:min(len(names), namesShown)] {
		shown = append(shown, shownName(name))
	}
	if len(names) > namesShown {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}
