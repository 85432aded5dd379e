package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"coleo.dev"
)

// This file copies objects from a repository that an arm may have written.

// oldFlaws lists harmless flaws that `git fsck` finds in commits of old or unusual programs. Bring refuses objects
// with any other flaw. For example, it refuses a tree that contains a name twice, because such a tree looks different
// in a diff and on the disk.
var oldFlaws = []string{"badDate", "badDateOverflow", "badEmail", "badName", "badTimezone", "missingEmail",
	"missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "multipleAuthors", "zeroPaddedDate"}

// Bring copies objects from another repository on this machine, with everything that they contain. The ids may
// be those of commits, tags, trees and files. Bring makes no ref.
//
// An arm may have written the other repository. Bring returns EUnsupported if that repository uses the objects of a
// third repository, or lacks objects as a partial clone does. It returns EConflict if objects are missing there, if
// git fsck would refuse them, or if CheckOwn refuses the repository.
func (r *Repo) Bring(ctx context.Context, from *Repo, ids []string) error {
	if len(ids) == 0 || r.hasAll(ctx, ids) == nil {
		return nil
	}
	if err := from.checkOwn(ctx); err != nil {
		return err
	}
	tips, err := r.tipsIn(ctx, from)
	if err != nil {
		return err
	}
	if err := from.checkSizes(ctx, ids, tips); err != nil {
		return err
	}
	wanted := strings.Join(ids, "\n") + "\n--not\n" + strings.Join(tips, "\n") + "\n"
	out, in := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		_, err := from.Run(ctx, Call{Args: []string{"pack-objects", "--quiet", "--revs", "--stdout", "--delta-base-offset",
			"--window-memory=" + windowMemory}, Stdin: strings.NewReader(wanted), Stdout: in})
		in.CloseWithError(err)
		packed <- err
	}()
	_, err = r.Run(ctx, Call{Args: []string{"index-pack", "--stdin",
		"--strict=" + strings.Join(oldFlaws, "=ignore,") + "=ignore"}, Stdin: out})
	out.Close()
	if failed := <-packed; failed != nil {
		return coleo.Errorf(coleo.EConflict, "git cannot read everything in %s: %w", from.Common, failed)
	}
	if ExitCode(err) > 0 {
		return coleo.Errorf(coleo.EConflict, "git does not accept the objects of %s: %w", from.Common, err)
	}
	if err != nil {
		return err
	}
	if err := from.checkOwn(ctx); err != nil { // check again, because the arm may have changed the folder in the meantime
		return err
	}
	if err := r.hasAll(ctx, ids); err != nil {
		return coleo.Errorf(coleo.EConflict, "objects are missing in %s: %w", from.Common, err)
	}
	return nil
}

// These constants limit what one call of Bring copies. The sizes are those of the unpacked objects, because a
// few bytes of a pack can contain an object of any size.
const (
	mostObject   = 2 << 30   // size of one object, in bytes; the usual git servers accept less
	mostBytes    = 16 << 30  // size of all objects together, in bytes
	mostObjects  = 5_000_000 // a large project has this many objects in its whole history
	windowMemory = "256m"    // the memory in which git compares objects while it packs them, as git's option
)

// checkSizes returns an error if Bring would copy too many or too large objects. It runs before git reads a large
// object.
func (r *Repo) checkSizes(ctx context.Context, ids, without []string) error {
	wanted := strings.Join(ids, "\n") + "\n"
	if len(without) > 0 {
		wanted += "^" + strings.Join(without, "\n^") + "\n"
	}
	const most = mostObjects * 65 // the longest id and its line break have 65 bytes
	list, err := r.Run(ctx, Call{Args: []string{"rev-list", "--objects", "--no-object-names", "--stdin"},
		Stdin: strings.NewReader(wanted), Most: most})
	if errors.Is(err, ErrTooLarge) {
		return coleo.Errorf(coleo.EConflict, "%s has more than %d new objects: they are not copied", r.Common, mostObjects)
	}
	if err != nil {
		return coleo.Errorf(coleo.EConflict, "git cannot read everything in %s: %w", r.Common, err)
	}
	sizes, err := r.Run(ctx, Call{Args: []string{"cat-file", "--batch-check=%(objectname) %(objectsize)"},
		Stdin: bytes.NewReader(list), Most: 2 * most})
	total := int64(0)
	for line := range strings.Lines(string(sizes)) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		size, _ := strconv.ParseInt(text, 10, 64) // 0 if the object is missing; git reports that later
		if total += size; size > mostObject || total > mostBytes {
			return coleo.Errorf(coleo.EConflict, "the new objects of %s are too large (%s has %d MB, one may have %d MB, and "+
				"all %d MB): they are not copied; let the arm make its commits again without the large files", r.Common, id,
				size>>20, mostObject>>20, mostBytes>>20)
		}
	}
	return err
}

// hasAll returns an error if the repository lacks one of the objects, or something that one of them contains.
func (r *Repo) hasAll(ctx context.Context, ids []string) error {
	_, err := r.Run(ctx, Call{Args: []string{"rev-list", "--objects", "--quiet", "--stdin", "--not", "--all"},
		Stdin: strings.NewReader(strings.Join(ids, "\n") + "\n")})
	return err
}

// tipsIn returns the objects to which the refs of r point, if the repository `other` also contains them.
func (r *Repo) tipsIn(ctx context.Context, other *Repo) (tips []string, err error) {
	own, err := r.Output(ctx, "for-each-ref", "--format=%(objectname)")
	if err != nil || len(own) == 0 {
		return nil, err
	}
	out, err := other.Run(ctx, Call{Args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"},
		Stdin: strings.NewReader(string(own))})
	for line := range strings.Lines(string(out)) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind != "missing" {
			tips = append(tips, id)
		}
	}
	return tips, err
}

// checkOwn checks that git reads only this repository's own objects.
func (r *Repo) checkOwn(ctx context.Context) error {
	if _, err := packsOf(filepath.Join(r.Common, "objects")); err != nil {
		return err
	}
	return CheckOwn(ctx, r.Common)
}
