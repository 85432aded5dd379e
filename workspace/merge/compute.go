package merge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// compute makes the commits of a merge. No ref points to these commits yet. compute returns the
// commit to which the branch must move. If there are conflicts, compute sets m.Conflicts instead.
func (j *job) compute(ctx context.Context, m *changes.Merged, tip string) (string, error) {
	list, err := j.commits(ctx, m, tip)
	if err != nil {
		return "", err
	}
	if m.Way == changes.WayRebase {
		return j.replayAll(ctx, m, tip)
	}
	tree, conflicts, err := j.mergeTree(ctx, tip, m.Commit, "")
	if setConflicts(m, conflicts); err != nil || conflicts != nil {
		return "", err
	}
	if m.Way == changes.WaySquash {
		if same, err := j.sameTree(ctx, tree, tip); err != nil || same {
			return tip, err
		}
	}
	if err := j.check(ctx, tip, tree); err != nil {
		return "", err
	}
	message, parents := j.request.Message, []string{tip, m.Commit}
	if m.Way == changes.WaySquash {
		parents = parents[:1]
	}
	if message == "" {
		if message, err = j.message(ctx, m, list); err != nil {
			return "", err
		}
	}
	return j.commitTree(ctx, tree, message, nil, parents...)
}

func (j *job) check(ctx context.Context, tip, tree string) error {
	if j.options.Check == nil || j.request.DryRun {
		return nil
	}
	if err := j.options.Check(ctx, tip, tree); err != nil {
		return coleo.Errorf(coleo.ErrorCode(err), "nothing was merged into %s: %w", j.into, err)
	}
	return nil
}

// commits stores in m the arm's commits that the branch does not contain. It returns their ids,
// newest first.
func (j *job) commits(ctx context.Context, m *changes.Merged, tip string) ([]string, error) {
	out, err := j.run(ctx, "log", "-z", "--topo-order", fmt.Sprintf("--max-count=%d", mostCommits+1), "--encoding=UTF-8",
		"--no-patch", "--format=%H %s", m.Commit, "^"+tip)
	if err != nil {
		return nil, err
	}
	var ids []string
	m.Commits = nil
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		id, subject, _ := strings.Cut(line, " ")
		ids = append(ids, id)
		subject = strings.ToValidUTF8(subject[:min(len(subject), mostSubject)], "\uFFFD")
		m.Commits = append(m.Commits, changes.MergeCommit{ID: id, Subject: subject})
	}
	if len(ids) > mostCommits {
		m.Commits = m.Commits[:mostCommits]
		m.Cut = fmt.Sprintf("only the newest %d commits are listed", mostCommits)
	}
	return ids, nil
}

// message returns the message of the new commit, in the form that git or GitHub would use.
func (j *job) message(ctx context.Context, m *changes.Merged, list []string) (string, error) {
	if m.Way == changes.WayMerge {
		return fmt.Sprintf("Merge branch '%s' into %s\n", m.Branch, m.Into), nil
	}
	if len(list) == 1 {
		c, err := j.read(ctx, list[0])
		return c.message, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Squash branch '%s'\n\n", m.Branch)
	for n := len(m.Commits) - 1; n >= 0; n-- {
		fmt.Fprintf(&b, "* %s\n", m.Commits[n].Subject)
	}
	return b.String(), nil
}

// commitTree makes a commit. Its author is the user, unless variables in `env` name another author.
func (j *job) commitTree(ctx context.Context, tree, message string, env []string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree, "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := j.repo.Run(ctx, git.Call{Args: args, Env: append(env, j.env...), Stdin: strings.NewReader(message)})
	if err != nil && lacksUser(err) {
		return "", coleo.Errorf(coleo.EInvalid, "git does not know who you are, so no commit was made: "+
			"run 'git config --global user.name NAME' and 'git config --global user.email ADDRESS'")
	}
	return strings.TrimSpace(string(out)), err
}

// lacksUser reports whether git refused to make a commit because it knows no user.
func lacksUser(err error) bool {
	var e *git.Error
	if !errors.As(err, &e) {
		return false
	}
	text := e.Stderr
	return strings.Contains(text, "tell me who you are") || strings.Contains(text, "empty ident name") ||
		strings.Contains(text, "auto-detection is disabled") || strings.Contains(text, "no name was given") ||
		strings.Contains(text, "no email was given")
}

func (j *job) treeOf(ctx context.Context, commit string) (string, error) {
	if tree := j.repo.LooseTree(commit); tree != "" {
		return tree, ctx.Err()
	}
	return j.run(ctx, "rev-parse", "--verify", "--end-of-options", commit+"^{tree}")
}

func (j *job) sameTree(ctx context.Context, tree, commit string) (bool, error) {
	other, err := j.treeOf(ctx, commit)
	return tree == other, err
}

// mergeTree merges two commits, and returns the tree or the conflicts. In a rebase, `commit` is the commit
// that is being replayed, and each conflict names it.
func (j *job) mergeTree(ctx context.Context, ours, theirs, commit string) (string, []changes.Conflict, error) {
	out, err := j.repo.Run(ctx, git.Call{Env: j.env,
		Args: []string{"merge-tree", "--write-tree", "-z", "--messages", ours, theirs}})
	const conflicted = 1
	if err != nil && git.ExitCode(err) != conflicted {
		return "", nil, coleo.Errorf(coleo.EConflict, "nothing was merged: %w", err)
	}
	tree, rest, _ := strings.Cut(string(out), "\x00")
	if err == nil {
		return tree, nil, nil
	}
	conflicts := parseConflicts(rest, commit)
	if len(conflicts) == 0 {
		return "", nil, coleo.Errorf(coleo.EInternal, "git merge-tree names no conflict: nothing was merged")
	}
	return "", conflicts, nil
}

// setConflicts stores the conflicts of a merge in m, within the bounds of a result.
func setConflicts(m *changes.Merged, list []changes.Conflict) {
	size := 0
	for n, c := range list {
		if size += len(c.Name()); n > 0 && (n == mostFiles || size > mostNames) {
			m.Cut = fmt.Sprintf("%d more files conflict", len(list)-n)
			list = list[:n]
			break
		}
	}
	m.Conflicts = list
}

// fields holds the fields of git's output. In the output, each field ends with a zero byte.
type fields []string

// next removes the first field and returns it. It returns "" if there is no field.
func (f *fields) next() (field string) {
	if len(*f) > 0 {
		field, *f = (*f)[0], (*f)[1:]
	}
	return field
}

// parseConflicts parses the output of `git merge-tree -z` without its beginning, which is the tree.
// The rest contains MODE ID STAGE TAB PATH for each version of a file in conflict, then an empty
// field, and then the messages. Stage 1 is the version in the merge base.
func parseConflicts(out, commit string) []changes.Conflict {
	left := fields(strings.Split(out, "\x00"))
	var paths []string
	inBase := map[string]bool{}
	for line := left.next(); line != ""; line = left.next() {
		head, path, _ := strings.Cut(line, "\t")
		if len(paths) == 0 || paths[len(paths)-1] != path {
			paths = append(paths, path)
		}
		inBase[path] = inBase[path] || strings.HasSuffix(head, " 1")
	}
	kinds, first := parseKinds(left)
	// Some conflicts list no files, such as a folder that was renamed in two ways. They count as
	// conflicts of the first path in the messages.
	if len(paths) == 0 && first != "" {
		paths = append(paths, first)
	}
	conflicts := make([]changes.Conflict, 0, len(paths))
	for _, path := range paths {
		kind := kinds[path]
		switch {
		case kind == "":
			kind = "other"
		case kind == "contents" && !inBase[path]: // git's kind for add/add is "contents" too
			kind = "add/add"
		}
		conflicts = append(conflicts, changes.NewConflict(path, kind, commit))
	}
	return conflicts
}

// parseKinds parses the messages of a merge. A message consists of a number of paths, these paths,
// a kind such as CONFLICT (contents), and a text. parseKinds returns the kinds of conflicts by
// path, and the first path that a message about a conflict names.
func parseKinds(left fields) (kinds map[string]string, first string) {
	kinds = map[string]string{}
	for len(left) > 0 {
		count, err := strconv.Atoi(left.next())
		if err != nil || count < 1 || count > len(left) {
			break
		}
		named := left[:count]
		left = left[count:]
		kind, ok := strings.CutPrefix(left.next(), "CONFLICT (")
		left.next() // skips git's message, which is for people
		if !ok {
			continue
		}
		if first == "" {
			first = named[0]
		}
		for _, path := range named {
			if kinds[path] == "" {
				kinds[path] = strings.TrimSuffix(kind, ")")
			}
		}
	}
	return kinds, first
}
