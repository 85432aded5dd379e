package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/printable"
)

// furtherID returns the id of an arm's worktree in a further repository. The first further repository has the
// number 2. The id can always be a part of a ref and of a file name, because it does not contain the
// repository's name.
func furtherID(arm string, number int) string { return arm + "-" + strconv.Itoa(number) }

// furtherOf reports whether an id belongs to a worktree of the given arm in a further repository.
func furtherOf(arm, id string) bool {
	number, err := strconv.Atoi(strings.TrimPrefix(id, arm+"-"))
	return err == nil && id == furtherID(arm, number)
}

// number returns the end of the id of a worktree in a further repository, such as "-2". For the arm's first
// worktree, it returns "".
func (w Workspace) number() string {
	if w.Arm == "" {
		return ""
	}
	return strings.TrimPrefix(w.ID, w.Arm)
}

// Group returns the worktrees of the arm with the given id, in the order in which the user has named their
// repositories. Most arms have one worktree or none. If the id is that of a worktree in a further repository,
// Group returns only this worktree.
func (s Workspaces) Group(id string) ([]Workspace, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Workspace
	for _, e := range entries {
		one, ok := strings.CutSuffix(e.Name(), recordSuffix)
		if !ok || one != id && !strings.HasPrefix(one, id+"-") {
			continue
		}
		w, err := s.read(one)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if w.ID == id || w.Arm == id {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b Workspace) int {
		return cmp.Or(len(a.ID)-len(b.ID), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// In returns the worktrees of an arm with several repositories, if `folder` is the folder above them.
// Otherwise it returns nil.
func (s Workspaces) In(folder string) ([]Workspace, error) {
	all, _ := s.List() // unreadable records are ignored
	if at := slices.IndexFunc(all, func(w Workspace) bool { return w.Top != "" && w.Top == folder }); at >= 0 {
		return s.Group(all[at].ArmID())
	}
	return nil, nil
}

// settleWorktrees completes or undoes what was interrupted in the worktrees of an arm, and returns those that
// are ready. The caller must hold the lock.
func (s Workspaces) settleWorktrees(ctx context.Context, id string) ([]Workspace, error) {
	all, err := s.Group(id)
	for _, w := range all {
		if err == nil && w.Status != Ready {
			err = s.mend(ctx, w)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.Group(id)
}

// isWhole reports whether a worktree in a further repository is complete although its record contains Making.
// It checks the record of the arm's first worktree.
func (s Workspaces) isWhole(w Workspace) (bool, error) {
	if w.Arm == "" {
		return false, nil
	}
	first, err := s.read(w.Arm)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && first.Status == Ready && slices.Contains(first.Whole, w.ID), err
}

// unsavedIn returns what is unsaved in each worktree of an arm. `refusal` is the error that Remove without force
// returns because of this unsaved work, or nil.
func (s Workspaces) unsavedIn(ctx context.Context, all []Workspace) (each []Unsaved, refusal, err error) {
	var parts []string
	for _, w := range all {
		var u Unsaved
		if w.Status == Ready {
			if u, err = s.Unsaved(ctx, w); err != nil {
				return nil, nil, notExamined(ctx, w, err)
			}
		}
		each = append(each, u)
		if w.Top == "" && refusal == nil {
			refusal = u.refuse(w)
		}
		if w.Top != "" && !u.Empty() {
			parts = append(parts, w.Repo+" has "+u.String())
		}
	}
	loose := ""
	if names := s.looseFiles(all); len(names) > 0 {
		loose = "the folder itself has " + listed(names) + " outside of the repositories, which stays there also with --force"
		parts = append(parts, loose)
	}
	if len(parts) == 0 {
		return each, refusal, nil
	}
	advice := "commit and push it, or --force keeps it under " + keptRefs + all[0].Name + " of each repository"
	if len(parts) == 1 && loose != "" {
		advice = "move it elsewhere, or use --force"
	}
	return each, coleo.Errorf(coleo.EConflict,
		"the worktrees of arm %s in %s have unsaved work: %s: nothing was removed; %s",
		all[0].Name, all[0].Workdir(), strings.Join(parts, "; "), advice), nil
}

// notExamined adds to an error of git that nothing was removed. Coleo's own errors already say so.
func notExamined(ctx context.Context, w Workspace, err error) error {
	if code := coleo.ErrorCode(err); ctx.Err() != nil || code != coleo.EInternal && code != coleo.EInvalid {
		return err
	}
	return coleo.Errorf(coleo.EConflict, "git cannot list the unsaved work in the worktree of arm %s at %s: "+
		"nothing was removed; "+
		"repair its repository, or save what you need and delete the folder: %w", w.Name, w.Path, err)
}

// looseFiles returns the names of files in the folder above the worktrees of several repositories, except the
// worktrees themselves.
func (s Workspaces) looseFiles(all []Workspace) (names []string) {
	if len(all) == 0 || all[0].Top == "" {
		return nil
	}
	if group, err := s.Group(all[0].ArmID()); err == nil {
		all = append(group, all...) // add the arm's worktrees that `all` lacks, because they are no loose files either
	}
	top := all[len(all)-1].Top
	entries, _ := os.ReadDir(top)
	for _, e := range entries {
		path := filepath.Join(top, e.Name())
		if !slices.ContainsFunc(all, func(w Workspace) bool { return w.Path == path }) {
			names = append(names, printable.Escaped(e.Name()))
		}
	}
	return names
}

// removeAll removes worktrees that are ready. It keeps the contents of all of them before it removes the first
// one.
func (s Workspaces) removeAll(ctx context.Context, all []Workspace, force bool) (Removal, error) {
	out := make([]Removal, len(all))
	for n, w := range all {
		out[n].Workspace = w
	}
	unsaved, refusal, err := s.unsavedIn(ctx, all)
	if err == nil && !force {
		err = refusal
	}
	now := s.Now()
	for n, w := range all {
		if err == nil && (!unsaved[n].Empty() || len(unsaved[n].replaced) > 0) {
			out[n].Kept, err = s.keep(ctx, w, now)
		}
	}
	// Remove the arm's first worktree last, because its record is needed as long as another worktree exists.
	for n := len(all) - 1; n >= 0 && err == nil; n-- {
		out[n], err = s.takeAway(ctx, all[n], out[n])
	}
	first := out[0]
	first.With = out[1:]
	if top := first.Workspace.Top; err == nil && top != "" && exists(top) {
		first.Stays = top
	}
	return first, err
}

// Rename stores an arm's new name in the records of its worktrees. It does not rename the folders and the
// branches. Rename does nothing if the arm has no worktree.
func (s Workspaces) Rename(ctx context.Context, id, name string) error {
	if all, err := s.Group(id); err != nil || len(all) == 0 {
		return err
	}
	s, unlock, err := s.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.Group(id)
	for _, w := range all {
		w.Name = name
		err = errors.Join(err, s.write(w))
	}
	return err
}

// checkRepo returns an error if the name of a repository is not safe as a folder's name or as a part of a patch.
func checkRepo(name, folder string) error {
	if filepath.IsLocal(name) && name != "." && !strings.EqualFold(name, ".git") && utf8.ValidString(name) &&
		!strings.ContainsAny(name, "\"\\") && printable.Escaped(name) == name && !strings.HasPrefix(name, ".coleo-removed-") {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "the repository %s has the name %q, which cannot name a folder among several "+
		"repositories: rename its folder; nothing was made", folder, name)
}

// keptTime returns the time in the name of a kept ref, a ref that contains a removed worktree. Refs of one arm with the
// same time were kept together.
func keptTime(ref string) string {
	at, _, _ := strings.Cut(ref[strings.LastIndexByte(ref, '/')+1:], "-")
	return at
}

// Together returns k and the worktrees that were kept together with it, in the order of their numbers. They
// are worktrees of one arm in several repositories.
func Together(all []Kept, k Kept) []Kept {
	var out []Kept
	for _, one := range all {
		if one.Name == k.Name && keptTime(one.Ref) == keptTime(k.Ref) {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Kept) int { return cmp.Or(len(a.Ref)-len(b.Ref), strings.Compare(a.Ref, b.Ref)) })
	return out
}

// OfKept returns the record of the worktree that was kept under a ref. `known` is false if this worktree does
// not exist now.
func (s Workspaces) OfKept(ctx context.Context, k Kept) (w Workspace, known bool, err error) {
	r, err := s.openCommon(ctx, k.Common)
	if err != nil {
		return w, false, err
	}
	defer r.Close()
	h, _, err := readManifest(ctx, r, k.Ref)
	if err != nil {
		return w, false, err
	}
	w, known, err = s.Of(h.Workspace.ID)
	return w, known && !w.isGone(), err
}

// Choose returns the worktree of an arm in the repository with the given name. If the name is "", Choose
// returns the arm's only worktree, or the only one in which the arm has changed something. If the arm has
// changed none or several of its worktrees, Choose returns EConflict with their names. It returns EInvalid if
// no repository of the arm has the name. `known` is false if the arm has no worktree.
func (s Workspaces) Choose(ctx context.Context, id, repo string) (w Workspace, known bool, err error) {
	all, err := s.Group(id)
	if err != nil || len(all) == 0 {
		return w, false, err
	}
	if all[0].Top == "" && repo != "" {
		return w, true, coleo.Errorf(coleo.EInvalid, "arm %s works in one repository, so the name %s would have "+
			"no effect: nothing was "+
			"done; leave out --repo", all[0].Name, printable.Escaped(repo))
	}
	if all[0].Top == "" {
		return all[0], true, nil
	}
	var changed []Workspace
	for _, one := range all {
		if one.Repo == repo {
			return one, true, nil
		}
		if repo != "" {
			continue
		}
		has, err := s.hasWork(ctx, one)
		if err != nil {
			return w, true, err
		}
		if has {
			changed = append(changed, one)
		}
	}
	switch {
	case repo != "":
		return w, true, coleo.Errorf(coleo.EInvalid, "arm %s has no repository %s, but %s: nothing was done", all[0].Name,
			printable.Escaped(repo), repoNames(all))
	case len(changed) == 1:
		return changed[0], true, nil
	case len(changed) == 0:
		return w, true, coleo.Errorf(coleo.EConflict, "arm %s has nothing new in its repositories %s: nothing was done; "+
			"--repo NAME names one of them", all[0].Name, repoNames(all))
	}
	return w, true, coleo.Errorf(coleo.EConflict, "arm %s has changed %s, and each is merged for itself: nothing was "+
		"done; name one with --repo NAME", all[0].Name, repoNames(changed))
}

// repoNames returns the names of the repositories for a message.
func repoNames(all []Workspace) string {
	var names []string
	for _, w := range all {
		names = append(names, w.Repo)
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// hasWork reports whether a worktree has uncommitted work, or a commit that is not on the branch on which the
// work began.
func (s Workspaces) hasWork(ctx context.Context, w Workspace) (bool, error) {
	u, err := s.Uncommitted(ctx, w)
	if err != nil || len(u.Uncommitted)+len(u.Untracked)+len(u.InProgress) > 0 {
		return err == nil, err
	}
	if !exists(w.Git) {
		return false, nil
	}
	tree, err := s.OpenTree(ctx, w)
	if err != nil {
		return false, err
	}
	defer tree.Close()
	head, err := commitOf(ctx, tree, "HEAD")
	if err != nil || head == w.Start && w.MadeBranch {
		return false, nil //nolint:nilerr // without a commit there is nothing to merge
	}
	// In a clone, the branch w.Onto can be a different one, so git runs in the main repository.
	main, err := s.openCommon(ctx, w.Common)
	if err != nil {
		return false, err
	}
	defer main.Close()
	_, err = main.Output(ctx, "merge-base", "--is-ancestor", head, ontoOf(w))
	return err != nil, nil //nolint:nilerr // git also fails if main lacks the commit or the branch: this is work too
}

// ontoOf names the commits with which a worktree's work is compared.
func ontoOf(w Workspace) string {
	if w.Onto == "" {
		return w.begin()
	}
	return heads + w.Onto
}
