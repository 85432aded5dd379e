package workspace

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/paths"
	"coleo.dev/workspace/git"
)

// This file makes the clone for an arm in a sandbox, and fetches the arm's work from the clone into the user's
// repository. The arm can write to the clone's git folder, so nothing in that folder is trusted.

// addTree makes the folder of a worktree or a clone, and connects it with the repository r.
func (s Workspaces) addTree(ctx context.Context, r *git.Repo, w Workspace) error {
	if w.Clone {
		return s.makeClone(ctx, r, w)
	}
	_, err := r.AddWorktree(git.Worktree{ID: w.ID, Path: w.Path, Head: w.ref(), Locked: "coleo: arm " + w.Name +
		" works here; 'coleo arm remove' removes it"})
	return err
}

// ownerFile returns the path of an empty file in a clone's git folder. The file's name shows to which arm the clone
// belongs. The file is necessary because Make can choose the same folder for two arms. Without the file, undoing an
// interrupted call of Make could delete the other arm's clone.
func ownerFile(w Workspace) string { return filepath.Join(w.Git, "coleo-"+w.ID) }

// isOthers reports whether w is an unfinished clone whose folder already contains the clone of another arm.
func isOthers(w Workspace) bool {
	if !w.Clone || w.Status != Making {
		return false
	}
	os.Remove(w.Git) // os.Remove removes only an empty folder, which a kill of Make can leave behind
	return exists(w.Git) && !exists(ownerFile(w))
}

// makeClone makes the folder of a clone and the clone's repository. It copies all objects, branches, tags and files
// of Git LFS from the repository r. HEAD of the clone is the arm's branch. makeClone checks nothing out.
func (s Workspaces) makeClone(ctx context.Context, r *git.Repo, w Workspace) error {
	if err := os.Mkdir(w.Path, 0o777); errors.Is(err, fs.ErrExist) {
		return coleo.Errorf(coleo.EConflict, "%s exists already: no worktree was made", w.Path)
	} else if err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(w.Git, 0o777), os.WriteFile(ownerFile(w), nil, 0o666)); err != nil {
		return err
	}
	if err := r.Copy(ctx, w.Git, w.Start, heads); err != nil {
		return coleo.Errorf(coleo.ErrorCode(err), "an arm in a sandbox gets a clone of the repository in place of a "+
			"worktree, and none could be made; start the arm without --worktree or without --sandbox: %w", err)
	}
	if err := os.WriteFile(filepath.Join(w.Git, "HEAD"), []byte("ref: "+w.ref()+"\n"), 0o666); err != nil {
		return err
	}
	if err := bringLFS(ctx, r.Common, w.Git); err != nil {
		return err
	}
	exclude := filepath.Join("info", "exclude")
	data, err := os.ReadFile(filepath.Join(r.Common, exclude))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Join(w.Git, "info"), 0o777),
		os.WriteFile(filepath.Join(w.Git, exclude), data, 0o666))
}

// checkClone returns EConflict if a clone's git folder is no longer a repository of its own, or contains links that
// lead out of the clone. The arm can write to this folder. Without the check, it could lead git into another
// repository or another file of the user. checkClone returns nil for a worktree.
func checkClone(ctx context.Context, w Workspace) error {
	if !w.Clone {
		return nil
	}
	if w.Top != "" { // the arm can write to Top, so it can replace the clone by a link
		if info, err := os.Lstat(w.Path); err != nil || !info.IsDir() {
			return coleo.Errorf(coleo.EConflict, "%s is no longer the folder that Coleo has made for arm %s: nothing was done; "+
				"see what is there, and move the clone back", w.Path, w.Name)
		}
	}
	info, err := os.Lstat(w.Git)
	if err == nil && info.IsDir() && !exists(filepath.Join(w.Git, "commondir")) {
		return git.CheckOwn(ctx, w.Git)
	}
	return coleo.Errorf(coleo.EConflict, "%s is no longer the git folder that Coleo has made for arm %s: nothing was "+
		"done; save what you need from %s, and delete that folder", w.Git, w.Name, w.Path)
}

// CloneOf returns the clone that contains a folder, and checks it with checkClone. If the folder is in no clone, the
// result is the zero value.
//
// An arm with several repositories has one top folder that contains all of its clones. If the given folder is in
// the top folder but in none of the clones, CloneOf returns EUnsupported. An arm can put links to other
// repositories there.
//
// A caller that opens the repository of an arm's folder must check that this repository uses the clone's git folder.
func (s Workspaces) CloneOf(ctx context.Context, folder string) (git.Clone, error) {
	all, _ := s.List() // unreadable records are ignored
	top := ""
	for _, w := range all {
		if w.Clone && paths.Within(w.Path, folder) {
			return w.asClone(), checkClone(ctx, w)
		}
		if w.Clone && w.Top != "" && paths.Within(w.Top, folder) {
			top = w.Top
		}
	}
	if top != "" {
		return git.Clone{}, coleo.Errorf(coleo.EUnsupported, "%s is in none of the clones in %s: git is not run there",
			folder, top)
	}
	return git.Clone{}, nil
}

// unsavedInClone looks for commits and stashes that only a clone contains. A commit also counts as unsaved if the main
// repository contains it only in the arm's own branch. The same rule applies to a worktree.
func (s Workspaces) unsavedInClone(ctx context.Context, r *git.Repo, w Workspace, u *Unsaved) (err error) {
	if u.Stashed, err = allStashes(ctx, r); err != nil {
		return err
	}
	main, err := s.openCommon(ctx, w.Common)
	if err != nil {
		return err
	}
	defer main.Close()
	one := repository{dir: w.Git, base: []string{w.begin()}}
	other := counterpart{Repo: main, except: []string{w.ref(), "refs/coleo/*"}, remotes: sharedRemotes(main, r)}
	err = other.compare(ctx, r, &one, w.Created)
	u.Commits = one.Unsaved.Commits
	u.replaced = append(u.replaced, one.Unsaved.replaced...)
	return err
}

// sharedRemotes returns arguments of git rev-list that select remote branches of a clone. It selects only remotes
// that the main repository has too. A remote that the arm has added does not count, because it can be a folder
// that is removed together with the clone.
func sharedRemotes(main, clone *git.Repo) (args []string) {
	for _, name := range main.Remotes() {
		url := "remote." + name + ".url"
		if slices.Equal(main.Values(url), clone.Values(url)) {
			args = append(args, "--remotes="+name)
		}
	}
	return args
}

// fetchedMessage returns the reflog message with which Coleo moves the arm's branch to a commit from the clone.
func fetchedMessage(w Workspace) string { return "coleo: from the clone of " + w.ID }

// FetchWork fetches the checked-out commit of a clone into the arm's branch of the main repository, and returns
// the commit. It also copies the clone's files of Git LFS. For a worktree, it does nothing.
//
// FetchWork returns EConflict if somebody else has committed on that branch, or has checked it out in the main
// repository. It also returns EConflict if the clone has no commit or lacks objects. During a rebase or a bisect
// it returns EConflict too, because the checked-out commit is then only an intermediate step.
func (s Workspaces) FetchWork(ctx context.Context, w Workspace) (string, error) {
	if !w.Clone {
		return "", nil
	}
	tree, err := s.OpenTree(ctx, w)
	if err != nil {
		return "", err
	}
	defer tree.Close()
	main, err := s.openCommon(ctx, w.Common)
	if err != nil {
		return "", err
	}
	defer main.Close()
	for _, name := range inProgress(w.Git) {
		if name == "rebase" || name == "bisect" {
			return "", coleo.Errorf(coleo.EConflict, "a %s is in progress in the clone of arm %s: nothing was fetched from it; "+
				"let the arm end it first", name, w.Name)
		}
	}
	head, err := commitOf(ctx, tree, "HEAD")
	if err != nil {
		return "", coleo.Errorf(coleo.EConflict, "the clone of arm %s has no commit checked out: nothing was fetched from it",
			w.Name)
	}
	if err := bringLFS(ctx, tree.Common, main.Common); err != nil {
		return "", err
	}
	before, _ := commitOf(ctx, main, w.ref())
	if before == head {
		return head, nil
	}
	if err := main.Bring(ctx, tree, []string{head}); err != nil {
		return "", coleo.Errorf(coleo.ErrorCode(err), "the commits of arm %s cannot be fetched from its clone: %w",
			w.Name, err)
	}
	if err := checkFiles(ctx, main, w, head); err != nil {
		return "", err
	}
	if err := s.mayReplace(ctx, main, w, before, head); err != nil {
		return "", err
	}
	old := before
	if old == "" {
		old = noCommit(head)
	}
	_, err = main.Output(ctx, "update-ref", "--create-reflog", "-m", fetchedMessage(w), w.ref(), head, old)
	if err != nil {
		return "", coleo.Errorf(coleo.EBusy, "the branch %s could not be moved to the commit of the clone: %w", w.Branch, err)
	}
	return head, nil
}

// mayReplace returns an error if the arm's branch of the main repository must not move from the commit `before` to
// `head`. `before` is "" for a branch that does not exist.
func (s Workspaces) mayReplace(ctx context.Context, main *git.Repo, w Workspace, before, head string) error {
	path, err := CheckedOut(main, w.ref(), "")
	if err != nil {
		return err
	}
	if path != "" {
		return coleo.Errorf(coleo.EConflict, "the branch %s is checked out in %s: the commits of arm %s stay in its clone; "+
			"check out another branch there", w.Branch, path, w.Name)
	}
	if before == "" {
		return nil
	}
	if _, err := main.Output(ctx, "merge-base", "--is-ancestor", before, head); err == nil {
		return nil
	}
	// The arm has replaced commits, for example by an amend. The branch in the main repository would lose the old
	// commits. So the branch may move only if Coleo was the last one to move this branch.
	said, err := main.Output(ctx, "log", "-g", "-1", "--format=%gs", w.ref(), "--")
	ours := []string{fetchedMessage(w), madeMessage(w)}
	if err == nil && slices.Contains(ours, strings.TrimSpace(string(said))) {
		return nil
	}
	return coleo.Errorf(coleo.EConflict, "the branch %s has commits that the clone of arm %s lacks: nothing was fetched; "+
		"keep them on another branch, and reset %s to a commit that the arm has", w.Branch, w.Name, w.Branch)
}

// bringKept fetches, from a clone, the objects that a kept ref needs. A kept ref contains a removed worktree. `ids`
// contains the object ids that were found in the files of the clone's git folder. bringKept returns two results:
//   - `ids`, and the ids to which the clone's refs point. These are added because a packed ref has no file of its
//     own.
//   - The contents of those annotated tags to which no ref of the main repository points, by their ids.
func bringKept(ctx context.Context, main, tree *git.Repo, ids []string) ([]string, map[string][]byte, error) {
	const format = "--format=%(objectname)"
	out, err := tree.Output(ctx, "for-each-ref", format, heads, tagRefs, "refs/stash")
	if err != nil {
		return nil, nil, err
	}
	ids = append(ids, strings.Fields(string(out))...)
	types, err := typesOf(ctx, tree, ids)
	if err != nil {
		return nil, nil, err
	}
	if err := main.Bring(ctx, tree, slices.Sorted(maps.Keys(types))); err != nil {
		return nil, nil, err
	}
	if out, err = main.Output(ctx, "for-each-ref", format, tagRefs); err != nil {
		return nil, nil, err
	}
	for _, id := range strings.Fields(string(out)) {
		delete(types, id)
	}
	tags := map[string][]byte{}
	for id, kind := range types {
		if kind != "tag" {
			continue
		}
		if tags[id], err = main.Run(ctx, git.Call{Args: []string{"cat-file", "tag", id}, Most: mostIDFile}); err != nil {
			return nil, nil, err
		}
	}
	return ids, tags, nil
}

// disarm makes a clone's restored git folder safe for the user's own git. It is necessary because git also runs
// in submodules, and an arm in a sandbox may have written settings and hooks into their repositories.
func (s Workspaces) disarm(ctx context.Context, gitDir string) error {
	program, err := s.git()
	if err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(gitDir, "modules"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.IsDir() || !exists(filepath.Join(path, "HEAD")) && !exists(filepath.Join(path, "commondir")) {
			return err
		}
		return program.Disarm(ctx, path)
	})
}

// relink corrects the .git files of the submodules in a restored worktree. These files name git folders in the
// former clone, but the git folders are now below the worktree's own git folder.
func relink(entries []entry, was Workspace, at git.Worktree) error {
	root, err := os.OpenRoot(at.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range entries {
		path := string(e.Path)
		if e.Area != areaWork || filepath.Base(path) != ".git" || !fs.FileMode(e.Mode).IsRegular() || e.Size > mostRef {
			continue
		}
		data, err := root.ReadFile(e.path())
		if err != nil {
			return err
		}
		target, is := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
		if !filepath.IsAbs(target) {
			target = filepath.Join(was.Path, filepath.Dir(path), target)
		}
		below, err := filepath.Rel(filepath.Join(was.Git, "modules"), target)
		if !is || err != nil || !filepath.IsLocal(below) {
			continue
		}
		link := "gitdir: " + filepath.Join(at.Git, "modules", below) + "\n"
		if err := errors.Join(root.Remove(e.path()), root.WriteFile(e.path(), []byte(link), 0o666)); err != nil {
			return err
		}
	}
	return nil
}
