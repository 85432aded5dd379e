package folder

import (
	"context"
	"errors"
	"os"
	"slices"

	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// This file lets git compare files, and reads what git prints.

// Before the patch, git prints two lists of the files. These constants bound what the lists contain about one file.
// Each list contains the file's path at most maxNames times. The modes, ids and line counts take at most headSize
// bytes.
const (
	headSize = 400
	maxNames = 2
)

// comparison describes what Folder.compare compares.
type comparison struct {
	args, trees []string // the git command with its options, and the trees that it compares
	env         []string
	request     changes.DiffRequest
	where       map[string]changes.Entry
	committed   map[string]bool
	more        bool // true if more files changed than the diff may contain
	head        int  // the largest size of git's list before the patch, in bytes; 0 if not known

	early *ahead // a comparison that was begun in advance; nil if there is none
	out   []byte // the output of that comparison, if it compared the right files; otherwise nil
}

// headOf returns the largest size of git's list of these files before the patch, in bytes.
func headOf(paths []path) (size int) {
	for _, p := range paths {
		size += headSize + 2*maxNames*len(p.name)
	}
	return size
}

// compare sets the files and the patch of d. One git process computes both, because each start of git takes
// some milliseconds. To count lines, git would read each file again, so compare itself counts the lines in
// the patch. Git counts them only if the patch was cut off or was not requested.
func (f *Folder) compare(ctx context.Context, d *changes.Diff, c comparison) error {
	if c.head == 0 {
		c.head = maxHead
	}
	out, cut := c.out, false
	if out == nil {
		var err error
		if out, cut, err = f.runDiff(ctx, c, f.patchOptions(c.request)...); err != nil {
			return err
		}
	}
	entries, lines, patch, err := changes.ParseRaw(out)
	if err != nil {
		return err
	}
	patch = changes.PrefixRenames(patch, f.below)
	if len(patch) > changes.MaxPatch || cut {
		cut, patch = true, changes.CutPatch(patch[:min(len(patch), changes.MaxPatch)])
		if out, _, err = f.runDiff(ctx, c, "--numstat"); err != nil {
			return err
		}
		if _, lines, _, err = changes.ParseRaw(out); err != nil {
			return err
		}
	}
	d.Patch, d.Files = patch, changes.Assemble(entries, lines, patch, c.where, c.committed)
	without := 0
	for _, file := range d.Files {
		if file.Length == 0 {
			without++
		}
	}
	d.Cut = changes.CutNote(changes.MaxFiles, c.more, cut, without)
	return nil
}

// patchOptions returns the options that choose what git prints about the changes.
func (f *Folder) patchOptions(w changes.DiffRequest) []string {
	if w.Stat {
		return []string{"--numstat"}
	}
	options := []string{"--patch", "--src-prefix=a/" + f.below, "--dst-prefix=b/" + f.below}
	if w.Binary {
		options = append(options, "--binary")
	}
	return options
}

// runDiff runs the git command of a comparison. `cut` is true if the output was too large, so that `out`
// contains only the beginning.
func (f *Folder) runDiff(ctx context.Context, c comparison, options ...string) (out []byte, cut bool, err error) {
	list := []string{"--find-renames", "--raw", "--no-abbrev", "-z", "--no-color", "-O" + os.DevNull}
	args := slices.Concat(c.args, list, options, c.trees)
	out, err = f.repo.Run(ctx, git.Call{Args: args, Env: c.env, Most: int64(c.head + changes.MaxPatch)})
	if errors.Is(err, git.ErrTooLarge) {
		return out, true, nil
	}
	return out, false, err
}

// maxHead bounds git's list of the files of a checkpoint, in bytes. The list contains the files
// that the checkpoint's commit changed, and at most MaxKept others.
const maxHead = 64 << 20
