package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"coleo.dev/workspace/git"
)

// commits looks for unsaved commits in one submodule, and stores them in one.Unsaved. If the submodule has
// submodules itself, `inner` contains the commits at which these began.
func (m *submodules) commits(ctx context.Context, one *repository) (inner []string, err error) {
	r, err := one.open(ctx, m.Workspaces, one.dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	one.Unsaved.InProgress = inProgress(one.dir)
	types, err := typesOf(ctx, r, one.base)
	if err != nil {
		return nil, err
	}
	one.base = slices.DeleteFunc(slices.Clone(one.base), func(id string) bool { return types[id] != "commit" })
	one.found = map[string]commitFound{}
	for _, id := range one.base {
		found, err := findCommit(ctx, r, id)
		if err != nil {
			return nil, err
		}
		one.found[id] = found
		inner = append(inner, ids(found.links)...)
	}
	if one.Unsaved.Stashed, err = allStashes(ctx, r); err != nil {
		return inner, err
	}
	main, err := m.openCounterpart(ctx, one.saved)
	if err != nil {
		return inner, err
	}
	defer main.close()
	return inner, main.compare(ctx, r, one, m.tree.Created)
}

// allStashes returns the stashes of a repository.
func allStashes(ctx context.Context, r *git.Repo) ([]string, error) {
	if !hasStash(ctx, r) {
		return nil, nil
	}
	out, err := r.Output(ctx, stashList...)
	if list := fields(out); err != nil || len(list) > 0 {
		return list, err
	}
	return []string{"refs/stash"}, nil
}

// addStashes adds the stashes that were made on a branch. They are not lost, because all work folders share the
// list of stashes, but the user could forget them.
func addStashes(ctx context.Context, r *git.Repo, branch string, u *Unsaved) error {
	if !hasStash(ctx, r) {
		return nil
	}
	out, err := r.Output(ctx, stashList...)
	if err != nil {
		return err
	}
	for _, line := range fields(out) {
		for _, begin := range []string{"WIP on ", "On "} {
			if strings.HasPrefix(line, begin+branch+": ") {
				u.Stashed = append(u.Stashed, line)
			}
		}
	}
	return nil
}

// stashList contains the arguments with which git lists all stashes. The command `git stash list` prints the same
// list, but starts a second git process.
var stashList = []string{"log", "-g", "--first-parent", "-z", "--format=%gs", "refs/stash", "--"}

func hasStash(ctx context.Context, r *git.Repo) bool {
	const ref = "refs/stash"
	if !r.MayHave(ref) {
		return false
	}
	_, err := commitOf(ctx, r, ref)
	return err == nil
}

// compare looks for commits of a repository that its counterpart lacks. The counterpart is a second repository in which
// commits may be saved. `created` is the time at which the arm received the repository.
func (c counterpart) compare(ctx context.Context, r *git.Repo, one *repository, created time.Time) error {
	// A commit is not searched here in two cases: a remote branch contains it, so it is saved there; or only a stash
	// contains it, because stashes are listed separately.
	//
	// A commit that only a tag contains is special, because the tag may come from a remote that has no branch with this
	// commit. So such a commit counts as unsaved only if it is newer than `created`.
	elsewhere := append([]string{"--not"}, c.remotes...)
	refs, err := refsOf(ctx, r)
	if err != nil {
		return err
	}
	var added, tagged []string
	if refs.outside(r, one.base) {
		added, err = newCommits(ctx, r, nil, one.base, append([]string{"--exclude=refs/remotes/*", "--exclude=refs/stash",
			"--exclude=refs/tags/*", "--exclude=refs/coleo/*", "--all"}, elsewhere...)...)
		if err != nil {
			return err
		}
	}
	if refs.newTags(one.base, created) {
		young := fmt.Sprintf("--max-age=%d", created.Unix())
		tagged, err = newCommits(ctx, r, nil, one.base, append([]string{young, "--tags"}, elsewhere...)...)
		if err != nil {
			return err
		}
	}
	slices.Sort(tagged)
	added = append(slices.DeleteFunc(added, func(id string) bool {
		_, twice := slices.BinarySearch(tagged, id)
		return twice
	}), tagged...)
	if added, err = c.missingCommits(ctx, added); err != nil {
		return err
	}
	if len(added) > 0 {
		out, err := r.Run(ctx, git.Call{Stdin: strings.NewReader(strings.Join(added[:min(len(added), mostNamed)], "\n")),
			Args: []string{"log", "--no-walk=unsorted", "--stdin", "--format=%h %s", "-z"}})
		if err != nil {
			return err
		}
		one.Unsaved.Commits = fields(out)
	}
	if err := c.compareTags(ctx, refs, created, &one.Unsaved); err != nil {
		return err
	}
	return c.compareReflogs(ctx, r, refs, one)
}

// mostNamed is how many subjects of commits are read.
const mostNamed = 1000

// newCommits returns the given commits and all of their ancestors, except the commits that `base` contains. `args`
// are further arguments for git rev-list, which can select or exclude more commits.
func newCommits(ctx context.Context, r *git.Repo, commits, base []string, args ...string) ([]string, error) {
	var from strings.Builder
	for _, id := range commits {
		from.WriteString(id + "\n")
	}
	for _, id := range base {
		from.WriteString("^" + id + "\n")
	}
	out, err := r.Run(ctx, git.Call{Args: append([]string{"rev-list", "--stdin"}, args...),
		Stdin: strings.NewReader(from.String())})
	return strings.Fields(string(out)), err
}

// counterpart is a second repository, in which the commits of an examined repository may be saved. For a submodule,
// it is the main repository's copy of the same submodule. Repo is nil if there is none.
type counterpart struct {
	*git.Repo
	except []string // patterns of refs whose commits do not count as saved
	// remotes contains arguments of git rev-list. They select those remote branches of the examined
	// repository whose commits count as saved.
	remotes []string
}

// anyRemote makes the commits of all remote branches count as saved.
var anyRemote = []string{"--remotes"}

func (m *submodules) openCounterpart(ctx context.Context, dir string) (counterpart, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != dir || !isRepository(dir) {
		return counterpart{remotes: anyRemote}, nil //nolint:nilerr // nothing is saved there
	}
	r, err := m.openAt(ctx, dir, dir)
	if err != nil {
		// The counterpart cannot be used, so nothing counts as saved there.
		return counterpart{remotes: anyRemote}, ctx.Err()
	}
	return counterpart{Repo: r, remotes: anyRemote}, nil
}

func (c counterpart) close() {
	if c.Repo != nil {
		c.Close()
	}
}

// missingCommits returns the given commits that no ref of the counterpart contains.
func (c counterpart) missingCommits(ctx context.Context, commits []string) ([]string, error) {
	if c.Repo == nil || len(commits) == 0 {
		return commits, nil
	}
	types, err := typesOf(ctx, c.Repo, commits)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, id := range commits {
		if types[id] == "commit" {
			there = append(there, id)
		}
	}
	if len(there) == 0 {
		return commits, nil
	}
	args := []string{"rev-list", "--stdin", "--not"}
	for _, pattern := range c.except {
		args = append(args, "--exclude="+pattern)
	}
	out, err := c.Run(ctx, git.Call{Args: append(args, "--all"),
		Stdin: strings.NewReader(strings.Join(there, "\n") + "\n")})
	if err != nil {
		return nil, err
	}
	saved := map[string]bool{}
	for _, id := range there {
		saved[id] = true
	}
	for _, id := range strings.Fields(string(out)) {
		saved[id] = false
	}
	return slices.DeleteFunc(slices.Clone(commits), func(id string) bool { return saved[id] }), nil
}

// ref is a ref of a repository.
type ref struct {
	name, kind, id string
	made           int64  // the date of an annotated tag, or 0
	commit         string // the id of the commit, or of the object that an annotated tag names
	dated          int64  // the date of the commit, or 0 if the object is not a commit
}

type refs []ref

// tagRefs is the beginning of the names of all tags.
const tagRefs = "refs/tags/"

// refFields are the fields of git for-each-ref that refsOf reads. A field with * describes what an annotated tag names.
var refFields = []string{"objecttype", "objectname", "refname", "taggerdate:unix", "committerdate:unix", "*objectname",
	"*committerdate:unix"}

// refsOf returns all refs of a repository.
func refsOf(ctx context.Context, r *git.Repo) (all refs, err error) {
	out, err := r.Output(ctx, "for-each-ref", "--format=%("+strings.Join(refFields, ") %(")+")")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(f) != len(refFields) {
			return nil, fmt.Errorf("git for-each-ref printed %q, which Coleo does not understand", shownName(line))
		}
		one := ref{kind: f[0], id: f[1], name: f[2], made: number(f[3]), commit: f[1], dated: number(f[4])}
		if f[5] != "" {
			one.commit, one.dated = f[5], number(f[6])
		}
		all = append(all, one)
	}
	return all, nil
}

// number returns the number in a text, or 0 if there is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// newTags reports whether a tag may contain a commit that is at least as new as `created`, and is not in the list
// `base`. It starts no git process, because most repositories have tags of old commits only.
func (all refs) newTags(base []string, created time.Time) bool {
	return slices.ContainsFunc(all, func(r ref) bool {
		old := r.dated > 0 && r.dated < created.Unix()
		return strings.HasPrefix(r.name, tagRefs) && !old && !slices.Contains(base, r.commit)
	})
}

// outside reports whether the repository may have commits that are not in the list `base`. It compares this list with
// the checked-out commit, and with the commits of those refs that `compare` examines. If the repository has
// worktrees, outside returns true.
func (all refs) outside(r *git.Repo, base []string) bool {
	head := r.Head()
	if !strings.HasPrefix(head, heads) && !slices.Contains(base, head) {
		return true
	}
	if trees, err := r.Worktrees(); err != nil || len(trees) > 0 {
		return true
	}
	return slices.ContainsFunc(all, func(r ref) bool {
		apart := r.name == "refs/stash" || strings.HasPrefix(r.name, "refs/remotes/") || strings.HasPrefix(r.name, tagRefs) ||
			strings.HasPrefix(r.name, "refs/coleo/")
		return !apart && !slices.Contains(base, r.id)
	})
}

// compareTags looks for refs that do not point to commits:
//   - A ref to a file or a folder counts as unsaved.
//   - An annotated tag is kept if it is newer than the worktree and the counterpart lacks it. It is no reason to
//     refuse a removal, because it may come from a remote.
func (c counterpart) compareTags(ctx context.Context, all refs, created time.Time, u *Unsaved) error {
	var tags []string
	for _, r := range all {
		switch {
		case r.kind == "commit":
		case r.kind != "tag":
			u.Commits = append(u.Commits, r.name+", which is a "+r.kind)
		case r.made == 0 || r.made >= created.Unix():
			tags = append(tags, r.id)
		}
	}
	var err error
	there := map[string]string{}
	if c.Repo != nil {
		if there, err = typesOf(ctx, c.Repo, tags); err != nil {
			return err
		}
	}
	for _, id := range tags {
		if there[id] == "" {
			u.replaced = append(u.replaced, id)
		}
	}
	return nil
}

// mostReflog is how much of a reflog is searched, in bytes. It is bounded because an arm can make a file of
// any size.
const mostReflog = 16 << 20

// compareReflogs looks for commits that only the reflogs of the submodule contain. `all` contains the
// submodule's refs.
func (c counterpart) compareReflogs(ctx context.Context, r *git.Repo, all refs, one *repository) error {
	logged := headsIn(one.dir)
	for _, name := range []string{"HEAD", "refs/heads", "refs/stash"} {
		err := filepath.WalkDir(filepath.Join(one.dir, "logs", name), func(path string, d fs.DirEntry, err error) error {
			absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
			if absent || err == nil && !d.Type().IsRegular() {
				return nil
			}
			if err != nil {
				return err
			}
			data, err := git.ReadRegular(path, mostReflog)
			logged = append(logged, idsIn(data)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	reached := map[string]bool{} // commits that `base` or a ref contains, so git need not search for them
	for _, id := range one.base {
		reached[id] = true
	}
	for _, r := range all {
		reached[r.id] = true
	}
	logged = slices.DeleteFunc(logged, func(id string) bool { return reached[id] })
	types, err := typesOf(ctx, r, logged)
	if err != nil {
		return err
	}
	logged = slices.DeleteFunc(logged, func(id string) bool { return types[id] != "commit" })
	if len(logged) == 0 {
		return nil
	}
	logged, err = newCommits(ctx, r, logged, one.base, "--not", "--all")
	if err != nil {
		return err
	}
	logged, err = c.missingCommits(ctx, logged)
	one.Unsaved.replaced = append(one.Unsaved.replaced, logged...)
	return err
}
