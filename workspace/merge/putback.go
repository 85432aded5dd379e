package merge

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev/workspace"
	"coleo.dev/workspace/git"
)

// version is the version of a file in a commit or in the index. Both fields are "" if the file does
// not exist there.
type version struct{ mode, id string }

// change contains the two versions of a file that an unfinished merge changes: before and after the merge.
type change struct{ before, after version }

// submodule is the mode of a submodule.
const submodule = "160000"

// changedFiles returns the files that differ between two commits, by their paths.
func changedFiles(ctx context.Context, r *git.Repo, before, after string) (map[string]change, error) {
	out, err := r.Output(ctx, "diff-tree", "-r", "--raw", "--no-abbrev", "--no-renames", "-z", before, after)
	if err != nil {
		return nil, err
	}
	all := map[string]change{}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for n := 0; n+1 < len(words); n += 2 {
		f := strings.Fields(strings.TrimPrefix(words[n], ":"))
		if len(f) < 4 {
			return nil, fmt.Errorf("git diff-tree printed %q, which Coleo does not understand", words[n])
		}
		all[words[n+1]] = change{versionOf(f[0], f[2]), versionOf(f[1], f[3])}
	}
	return all, nil
}

func versionOf(mode, id string) version {
	if strings.Trim(id, "0") == "" {
		return version{}
	}
	return version{mode, id}
}

// putBack undoes the merge in the files and the index of the work folder. A file with the content that it has in
// p.After gets the content that it has in p.Before. putBack also restores a file that a killed git has written in
// part or deleted. It leaves every other file alone, because the person has changed it, and returns the paths of
// these files.
//
// `head` is the commit that is checked out. If `head` differs from p.Before, somebody has committed something in the
// meantime. putBack does not touch the files that this commit changes. If a kill interrupts putBack, the next call
// does the rest.
func (p unfinishedMerge) putBack(ctx context.Context, trees workspace.Workspaces, r *git.Repo,
	head string) ([]string, error) {
	changed, err := changedFiles(ctx, r, p.Before, p.After)
	if err != nil {
		return nil, err
	}
	committed, err := changedFiles(ctx, r, p.Before, head)
	if err != nil {
		return nil, err
	}
	for name := range committed {
		delete(changed, name)
	}
	own, err := trees.TempDir()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(own)
	b := putBackRun{ctx: ctx, r: r, pending: p, own: own}
	if b.root, err = os.OpenRoot(r.Work); err != nil {
		return nil, err
	}
	defer b.root.Close()
	for _, files := range []map[string]change{takeAttributes(changed), changed} {
		if err := b.putChanged(files); err != nil {
			return nil, err
		}
	}
	_, _ = r.Output(ctx, "update-index", "-q", "--refresh") // an error only means that files differ
	return b.left, nil
}

// takeAttributes removes the .gitattributes files from a map and returns them. Coleo must put them back first, because
// they decide how git compares and writes the other files. The merge can have replaced a folder that contains
// .gitattributes by a file. takeAttributes then also takes the new file.
func takeAttributes(changed map[string]change) map[string]change {
	taken := map[string]change{}
	for name := range changed {
		if filepath.Base(name) != ".gitattributes" {
			continue
		}
		for at := name; at != "."; at = filepath.Dir(at) {
			if c, known := changed[at]; known {
				taken[at] = c
			}
		}
	}
	for name := range taken {
		delete(changed, name)
	}
	return taken
}

// putChanged undoes the merge in some of the files, and in their entries of the index.
func (b *putBackRun) putChanged(changed map[string]change) error {
	if len(changed) == 0 {
		return nil
	}
	b.changed, b.write, b.delete = changed, nil, nil
	for commit, index := range map[string]string{b.pending.Before: "before", b.pending.After: "after"} {
		if err := b.makeIndex(commit, index); err != nil {
			return err
		}
	}
	if err := b.decideFiles(); err != nil {
		return err
	}
	if err := b.putIndex(); err != nil {
		return err
	}
	return b.putFiles()
}

// putBackRun contains the data of one call of putBack.
type putBackRun struct {
	ctx     context.Context
	r       *git.Repo
	pending unfinishedMerge
	own     string // a folder for temporary files
	root    *os.Root
	changed map[string]change

	write  []string // files to write as they are in p.Before
	delete []string // files to delete, because p.Before does not contain them
	left   []string // files to leave alone, because the person has changed them
}

// git runs git with one of the temporary indexes.
func (b *putBackRun) git(index, stdin string, args ...string) ([]byte, error) {
	return b.r.Run(b.ctx, git.Call{Args: args, Stdin: strings.NewReader(stdin),
		Env: []string{"GIT_INDEX_FILE=" + filepath.Join(b.own, index)}})
}

// makeIndex makes a temporary index of a commit, with which git can compare the files.
func (b *putBackRun) makeIndex(commit, index string) error {
	if _, err := b.git(index, "", "read-tree", commit); err != nil {
		return err
	}
	_, _ = b.git(index, "", "update-index", "-q", "--refresh") // an error only means that files differ
	return nil
}

// differsFrom returns the files in the work folder that differ from a temporary index.
func (b *putBackRun) differsFrom(index string) (map[string]bool, error) {
	out, err := b.git(index, "", "diff-files", "--name-only", "-z")
	all := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		all[name] = true
	}
	return all, err
}

// decideFiles decides for each changed file whether to write it, to delete it, or to leave it alone.
func (b *putBackRun) decideFiles() error {
	notBefore, err := b.differsFrom("before")
	if err != nil {
		return err
	}
	notAfter, err := b.differsFrom("after")
	if err != nil {
		return err
	}
	var unknown []string
	for name, c := range b.changed {
		if c.before.mode == submodule || c.after.mode == submodule {
			continue // of a submodule, git changes no files, but only its entry in the index
		}
		_, missing := b.root.Lstat(name)
		switch {
		case c.before.id != "" && !notBefore[name], missing != nil && c.before.id == "":
		case missing != nil, c.after.id != "" && !notAfter[name]:
			b.addFile(name, c)
		default:
			unknown = append(unknown, name)
		}
	}
	return b.sortUnknown(unknown)
}

// addFile adds a file to the list of files to write, or to the list of files to delete.
func (b *putBackRun) addFile(name string, c change) {
	if c.before.id == "" {
		b.delete = append(b.delete, name)
	} else {
		b.write = append(b.write, name)
	}
}

// sortUnknown handles files that differ from both the version before the merge and the version after it. If a file is
// only the beginning of the merged version, a killed git has left it, and sortUnknown puts it back. Otherwise the
// person has changed it.
func (b *putBackRun) sortUnknown(names []string) error {
	whole := filepath.Join(b.own, "whole") + "/"
	var wanted strings.Builder
	for _, name := range names {
		if b.changed[name].after.id != "" {
			wanted.WriteString(name + "\x00")
		}
	}
	if _, err := b.git("after", wanted.String(), "checkout-index", "--force", "--quiet", "-z", "--stdin",
		"--prefix="+whole); err != nil {
		return err
	}
	for _, name := range names {
		info, err := b.root.Lstat(name)
		if err == nil && info.Mode().IsRegular() && b.changed[name].after.id != "" {
			now, e1 := b.root.ReadFile(name)
			all, e2 := os.ReadFile(whole + name)
			if e1 == nil && e2 == nil && bytes.HasPrefix(all, now) {
				b.addFile(name, b.changed[name])
				continue
			}
		}
		b.left = append(b.left, name)
	}
	slices.Sort(b.left)
	return nil
}

// putIndex restores those entries of the person's index that the merge has changed.
func (b *putBackRun) putIndex() error {
	out, err := b.r.Output(b.ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	now := map[string]version{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok {
			f := strings.Fields(meta)
			now[name] = version{f[0], f[1]}
		}
	}
	var lines strings.Builder
	for name, c := range b.changed {
		switch {
		case now[name] != c.after || c.after == c.before:
		case c.before.id == "":
			fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", len(c.after.id)), name)
		default:
			fmt.Fprintf(&lines, "%s %s\t%s\x00", c.before.mode, c.before.id, name)
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	_, err = b.r.Run(b.ctx, git.Call{Args: []string{"update-index", "--replace", "-z", "--index-info"},
		Stdin: strings.NewReader(lines.String())})
	return leftLock(err, filepath.Join(b.r.Git, "index"))
}

// putFiles deletes and writes files. It deletes first, because a deleted file's name can be the name of a folder in
// p.Before. It leaves out a file if a folder has the file's name, or if a part of the path above the file is not a
// folder.
func (b *putBackRun) putFiles() error {
	for _, name := range b.delete {
		if err := b.root.Remove(name); err != nil {
			return err
		}
		for dir := filepath.Dir(name); dir != "." && b.root.Remove(dir) == nil; {
			dir = filepath.Dir(dir) // the folder was empty, so the folder above may be empty too
		}
	}
	var names strings.Builder
	for _, name := range b.write {
		if b.isBlocked(name) {
			b.left = append(b.left, name)
			continue
		}
		names.WriteString(name + "\x00")
	}
	_, err := b.git("before", names.String(), "checkout-index", "--force", "--quiet", "-z", "--stdin")
	return err
}

// isBlocked reports whether a folder has the name of the file, or whether a part of the path above the file is not a
// folder. Git would delete what is there to write the file.
func (b *putBackRun) isBlocked(name string) bool {
	if info, err := b.root.Lstat(name); err == nil && info.IsDir() {
		return true
	}
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if info, err := b.root.Lstat(dir); err == nil && info.Mode()&fs.ModeType != fs.ModeDir {
			return true
		}
	}
	return false
}
