package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

const (
	// lfsPointer is how a file begins that stands for a file of Git LFS (its specification, version 1).
	lfsPointer = "version https://git-lfs.github.com/spec/v1\n"
	// mostAttributes is the number of bytes of a .gitattributes file that are searched. Git itself
	// ignores a larger file.
	mostAttributes = 100 << 20
)

// checkoutError makes the error of a failed checkout clear if a filter of Git LFS has failed.
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

// noteMissing notes which files a new worktree lacks: those of submodules, and those of Git LFS if the
// user's git has no filter for them.
func noteMissing(ctx context.Context, tree *git.Repo, w *Workspace) error {
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(".gitmodules"); err == nil {
		if err := noteSubmodules(ctx, tree, w); err != nil {
			return err
		}
	}
	return noteLFS(ctx, tree, root, w)
}

// noteSubmodules notes that submodules are empty.
func noteSubmodules(ctx context.Context, tree *git.Repo, w *Workspace) error {
	out, err := tree.Output(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	var names []string
	for _, line := range fields(out) {
		const submodule = "160000 "
		if _, name, _ := strings.Cut(line, "\t"); strings.HasPrefix(line, submodule) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		w.Notes = append(w.Notes, "submodules are empty in the worktree ("+listed(names)+"): Coleo fetches none; "+
			"'git submodule update --init' there fills them")
	}
	return nil
}

// noteLFS notes which files of Git LFS are only pointers.
func noteLFS(ctx context.Context, tree *git.Repo, root *os.Root, w *Workspace) error {
	out, err := tree.Output(ctx, "ls-files", "-z", "--", ":(glob)**/.gitattributes")
	if err != nil {
		return err
	}
	uses := false
	for _, name := range fields(out) {
		text, err := beginning(root, name, mostAttributes)
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
	const perFile = 3 // path, attribute and value
	for words := fields(out); len(words) >= perFile; words = words[perFile:] {
		if words[2] != "lfs" {
			continue
		}
		if text, err := beginning(root, words[0], int64(len(lfsPointer))); err == nil && text == lfsPointer {
			pointers = append(pointers, words[0])
		}
	}
	if len(pointers) > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d files of Git LFS are only pointers in the worktree (%s): install git-lfs, "+
			"and run 'git lfs install' for your user, then 'git lfs pull' there", len(pointers), listed(pointers)))
	}
	return nil
}

// beginning returns the first bytes of a regular file.
func beginning(root *os.Root, name string, most int64) (string, error) {
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

// listed returns the first names of a list, for a message.
func listed(names []string) string {
	var shown []string
	for _, name := range names[:min(len(names), namesShown)] {
		shown = append(shown, printable(name))
	}
	if len(names) > namesShown {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}
