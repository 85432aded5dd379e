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
	"coleo.dev/printable"
	"coleo.dev/workspace/git"
)

// Unsaved lists what would be lost with a worktree, or could be forgotten. The lists contain paths below the
// worktree, or lines for people.
type Unsaved struct {
	Uncommitted []string `json:"uncommitted,omitempty"` // files that are changed, deleted, staged or in conflict
	Untracked   []string `json:"untracked,omitempty"`
	Ignored     []string `json:"ignored,omitempty"` // ignored files that were made or changed after the end of the set-up
	// Unseen contains files that git never reports: git folders among the files, and folders that cannot be
	// read.
	Unseen []string `json:"unseen,omitempty"`
	// Commits contains the worktree's new commits that no remote branch, no other local branch and no tag
	// contains. Commits from before the worktree do not count.
	Commits    []string `json:"commits,omitempty"`
	Stashed    []string `json:"stashed,omitempty"`     // stashes that were made on the worktree's branch
	InProgress []string `json:"in_progress,omitempty"` // unfinished operations, such as a merge or a rebase
	// Submodules lists only the submodules that contain unsaved work.
	Submodules []Submodule `json:"submodules,omitempty"`

	// replaced contains commits that only the worktree's reflog contains, such as those before an amend. They
	// are no reason to refuse a removal, but they are kept.
	replaced []string

	// nested contains the folders that git treats as repositories of their own, with a slash at the end.
	nested map[string]bool
}

// Empty reports whether nothing would be lost.
func (u Unsaved) Empty() bool {
	return len(u.Uncommitted)+len(u.Untracked)+len(u.Ignored)+len(u.Unseen)+len(u.Commits)+len(u.Stashed)+
		len(u.InProgress)+len(u.Submodules) == 0
}

// namesShown is the largest number of names of one kind in a message.
const namesShown = 5

// String describes in one line what would be lost.
func (u Unsaved) String() string {
	var parts []string
	for _, l := range []struct {
		one, many string
		names     []string
	}{
		{"uncommitted file", "uncommitted files", u.Uncommitted},
		{"untracked file", "untracked files", u.Untracked},
		{"ignored file", "ignored files", u.Ignored},
		{"file or folder that git does not show", "files or folders that git does not show", u.Unseen},
		{"commit that no other branch has", "commits that no other branch has", u.Commits},
		{"stash", "stashes", u.Stashed},
		{"operation in progress", "operations in progress", u.InProgress},
	} {
		if len(l.names) == 0 {
			continue
		}
		word := l.many
		if len(l.names) == 1 {
			word = l.one
		}
		parts = append(parts, fmt.Sprintf("%d %s (%s)", len(l.names), word, listed(l.names)))
	}
	for n, sub := range u.Submodules {
		if n == namesShown {
			parts = append(parts, fmt.Sprintf("%d more submodules", len(u.Submodules)-n))
			break
		}
		parts = append(parts, sub.String())
	}
	return strings.Join(parts, "; ")
}

// nameShown is how much of a name a message shows, in bytes.
const nameShown = 100

// shownName returns the name of a file for a message. It escapes the name, because an arm chooses it.
func shownName(name string) string {
	s := printable.Escaped(name)
	if len(s) > nameShown {
		s = strings.ToValidUTF8(s[:nameShown], "") + "…"
	}
	return s
}

// Unsaved returns what would be lost with the worktree of an arm. It compares the contents of all files instead
// of relying on the worktree's index, because an arm can mark a changed file as unchanged there.
func (s Workspaces) Unsaved(ctx context.Context, w Workspace) (Unsaved, error) {
	return s.examine(ctx, w, s.unsavedSubmodules, s.unsavedCommits)
}

// Uncommitted is like Unsaved, but leaves out commits, stashes and the work in submodules.
func (s Workspaces) Uncommitted(ctx context.Context, w Workspace) (Unsaved, error) {
	return s.examine(ctx, w)
}

// examination adds to u what it finds in a worktree, whose checked-out commit is `head`.
type examination func(ctx context.Context, r *git.Repo, head commitFound, w Workspace, u *Unsaved) error

// examine carries out the given examinations of a worktree. It also looks for operations in progress, and for unsaved
// files outside of submodules.
func (s Workspaces) examine(ctx context.Context, w Workspace, all ...examination) (Unsaved, error) {
	var u Unsaved
	if err := checkNoLink(w); err != nil {
		return u, err
	}
	if _, err := os.Lstat(w.Git); errors.Is(err, fs.ErrNotExist) {
		return u, s.checkFolderGone(w)
	}
	r, err := s.OpenTree(ctx, w)
	if err != nil {
		return u, err
	}
	defer r.Close()
	u.InProgress = inProgress(w.Git)
	head, err := findCommit(ctx, r, "HEAD")
	if err != nil {
		return u, err
	}
	for _, examine := range all {
		if err := examine(ctx, r, head, w, &u); err != nil {
			return u, err
		}
	}
	if _, err := os.Lstat(w.Path); errors.Is(err, fs.ErrNotExist) {
		return u, errors.Join(checkNotMoved(r, w), u.takeIndex(ctx, r, head))
	}
	return u, s.unsavedFiles(ctx, r, head, w, &u)
}

// checkNotMoved is called if a worktree's folder is missing. It returns EConflict if somebody has moved the folder
// with `git worktree move`, because a removal would delete the index of the moved worktree.
func checkNotMoved(r *git.Repo, w Workspace) error {
	all, err := r.Worktrees()
	for _, at := range all {
		if at.Git == w.Git && at.Path != w.Path && !at.Gone() {
			return coleo.Errorf(coleo.EConflict, "the worktree of arm %s was moved to %s: nothing was removed; move it back to "+
				"%s ('git worktree move')", w.Name, at.Path, w.Path)
		}
	}
	return err
}

// checkFolderGone returns EConflict if a worktree's git folder is missing but its folder still contains files,
// because nothing shows which of them are saved.
func (s Workspaces) checkFolderGone(w Workspace) error {
	entries, err := os.ReadDir(w.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	return coleo.Errorf(coleo.EConflict, "%s is no longer a worktree of %s, so Coleo cannot list its unsaved work: "+
		"nothing was removed; save what you need and delete the folder", w.Path, w.Common)
}

// unfinished lists files in a git folder that show which operation is unfinished.
var unfinished = []struct{ file, name string }{
	{"MERGE_HEAD", "merge"}, {"rebase-merge", "rebase"}, {"rebase-apply", "rebase"},
	{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	{"sequencer", "cherry-pick"}, {"MERGE_AUTOSTASH", "merge"},
}

func inProgress(gitDir string) []string {
	var out []string
	for _, u := range unfinished {
		if exists(filepath.Join(gitDir, u.file)) && !slices.Contains(out, u.name) {
			out = append(out, u.name)
		}
	}
	return out
}

// unsavedFiles looks for unsaved files, except in submodules.
func (s Workspaces) unsavedFiles(ctx context.Context, r *git.Repo, head commitFound, w Workspace, u *Unsaved) error {
	if at := (git.Worktree{Path: w.Path, Git: w.Git}); at.Gone() {
		u.Uncommitted = append(u.Uncommitted, ".git, which is not that of the worktree")
	}
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	return s.compareFiles(ctx, r, head, u, s.ownFileTest(w, root))
}

// ownFileTest returns a function that reports whether a file is Coleo's own. A file is Coleo's own if Coleo has
// put it there and nobody has changed it. An ignored file that the set-up has made also counts as Coleo's own. The
// function takes a path below `root`, the folder of the worktree.
func (s Workspaces) ownFileTest(w Workspace, root *os.Root) func(name string, ignored bool) bool {
	placed := map[string]Placed{}
	for _, p := range w.Placed {
		placed[p.Path] = p
	}
	made := s.asMade(w, root)
	return func(name string, ignored bool) bool {
		p, ok := placed[name]
		return ok && isUnchanged(root, p) || ignored && made(name)
	}
}

// mostStatus is the largest size of git's list of differing and ignored files, in bytes. It has room for several
// million files.
const mostStatus = 512 << 20

// compareFiles compares a work folder with a fresh index of the checked-out commit. It adds the differing
// files to u, except those for which `ours` returns true.
func (s Workspaces) compareFiles(ctx context.Context, r *git.Repo, head commitFound, u *Unsaved,
	ours func(name string, ignored bool) bool) error {
	dir, err := os.MkdirTemp(s.scratch(), "index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fresh := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	from := "HEAD"
	if !head.exists {
		from = "--empty"
	}
	if _, err := r.Run(ctx, git.Call{Args: []string{"read-tree", from}, Env: fresh}); err != nil {
		return err
	}
	out, err := r.Run(ctx, git.Call{Env: fresh, Most: mostStatus,
		Args: []string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=traditional", "--no-renames"}})
	if err != nil {
		return err
	}
	if err := u.addStatus(out, ours); err != nil {
		return err
	}
	return errors.Join(u.takeUnseen(ctx, r, head), u.takeIndex(ctx, r, head))
}

// addStatus adds the files in the output of `git status --porcelain=v2 -z`, except those for which `ours`
// returns true.
func (u *Unsaved) addStatus(out []byte, ours func(name string, ignored bool) bool) error {
	const changedFields, conflictFields = 9, 11
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		kind, rest, _ := strings.Cut(entry, " ")
		if strings.HasSuffix(rest, "/") {
			u.addNested(rest)
		}
		switch kind {
		case "", "#":
		case "1":
			u.Uncommitted = append(u.Uncommitted, lastField(entry, changedFields))
		case "u":
			u.Uncommitted = append(u.Uncommitted, lastField(entry, conflictFields))
		case "?":
			if !ours(rest, false) {
				u.Untracked = append(u.Untracked, rest)
			}
		case "!":
			if !ours(rest, true) {
				u.Ignored = append(u.Ignored, rest)
			}
		default:
			return fmt.Errorf("git status printed %q, which Coleo does not understand", shownName(entry))
		}
	}
	return nil
}

func (u *Unsaved) addNested(folder string) {
	if u.nested == nil {
		u.nested = map[string]bool{}
	}
	u.nested[folder] = true
}

// lastField returns the last of n fields that are separated by blanks. This field is a path, and may itself
// contain blanks.
func lastField(entry string, n int) string {
	fields := strings.SplitN(entry, " ", n)
	return fields[len(fields)-1]
}

// takeIndex adds to u the files whose changes are only in the work folder's own index.
func (u *Unsaved) takeIndex(ctx context.Context, r *git.Repo, head commitFound) error {
	args, found := []string{"diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD", "--"}, u.Uncommitted
	if !head.exists { // there is no commit yet, so each file in the index is new
		args, found = []string{"ls-files", "--cached", "-z"}, slices.Concat(u.Uncommitted, u.Untracked, u.Ignored)
	}
	out, err := r.Output(ctx, args...)
	if err != nil {
		u.Uncommitted = append(u.Uncommitted, "the index, which git cannot read: "+err.Error())
	}
	known := map[string]bool{"": true}
	for _, name := range found {
		known[name] = true
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if !known[name] {
			known[name] = true // a file in conflict appears several times
			u.Uncommitted = append(u.Uncommitted, name)
		}
	}
	return ctx.Err()
}

// ownRefs lists the refs that belong to a worktree alone, and are removed with it.
var ownRefs = []string{"refs/worktree/*", "refs/bisect/*", "refs/rewritten/*"}

// unsavedCommits looks for commits that only this worktree contains.
func (s Workspaces) unsavedCommits(ctx context.Context, r *git.Repo, head commitFound, w Workspace,
	u *Unsaved) error {
	if w.Clone {
		return s.unsavedInClone(ctx, r, w, u)
	}
	if !isUnused(r, head, w) {
		if err := newCommitsOf(ctx, r, head, w, u); err != nil {
			return err
		}
	}
	if own := r.Head(); strings.HasPrefix(own, heads) {
		if err := addStashes(ctx, r, strings.TrimPrefix(own, heads), u); err != nil {
			return err
		}
	}
	replaced, err := s.replacedCommits(ctx, r, w)
	u.replaced = append(u.replaced, replaced...)
	return err
}

// isUnused reports whether the checked-out commit is the one on which the work began, and the worktree has no refs of
// its own. The worktree then has no new commits.
func isUnused(r *git.Repo, head commitFound, w Workspace) bool {
	begin := w.begin()
	if !head.exists || begin == "" || begin != r.Head() && begin != r.LooseTip() {
		return false
	}
	return !slices.ContainsFunc(ownRefs, func(refs string) bool {
		dir := strings.TrimSuffix(refs, "/*")
		return exists(filepath.Join(r.Git, dir)) || r.MayHave(dir)
	})
}

// newCommitsOf adds to u the new commits of a worktree that nothing else contains.
func newCommitsOf(ctx context.Context, r *git.Repo, head commitFound, w Workspace, u *Unsaved) error {
	own := r.Head()
	args := []string{"log", "--max-count=1000", "--format=%h %s", "-z"}
	if head.exists {
		args = append(args, "HEAD")
	}
	for _, refs := range ownRefs {
		args = append(args, "--glob="+refs)
	}
	if begin := w.begin(); begin != "" {
		args = append(args, "^"+begin)
	}
	args = append(args, "--not", "--remotes", "--tags")
	if strings.HasPrefix(own, heads) {
		args = append(args, "--exclude="+strings.TrimPrefix(own, heads))
	}
	out, err := r.Output(ctx, append(args, "--branches", "--")...)
	u.Commits = fields(out)
	return err
}

// fields splits git's output, in which each field ends with a zero byte.
func fields(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
