package workspace

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// This file bounds the files of a commit that an arm has made in its clone.

// These constants bound the files of a commit that comes from a clone. They are necessary because a few small tree
// objects of git can describe any number of files, if each tree contains another one many times.
const (
	mostListed    = 128 << 20 // bytes of the list of the ids of all files: about 3 million files
	mostFileBytes = 16 << 30  // bytes of all files, without those of the commit on which the work began
)

// checkFiles checks the number and the size of the files in a commit that FetchWork has copied from a clone. It returns
// EConflict for too many or too large files.
func checkFiles(ctx context.Context, main *git.Repo, w Workspace, head string) error {
	size, err := sizeOfFiles(ctx, main, head)
	if err == nil && size > mostFileBytes {
		var begun int64
		begun, err = sizeOfFiles(ctx, main, w.begin())
		size -= begun
	}
	switch {
	case errors.Is(err, git.ErrTooLarge):
		return coleo.Errorf(coleo.EConflict, "the commit %s of arm %s has many millions of files: nothing was fetched; let "+
			"the arm make its commits again without them", head, w.Name)
	case err != nil:
		return err
	case size > mostFileBytes:
		return coleo.Errorf(coleo.EConflict, "the commit %s of arm %s adds files of %d GB, and %d GB are allowed: nothing "+
			"was fetched; let the arm make its commits again without them", head, w.Name, size>>30, mostFileBytes>>30)
	}
	return nil
}

// sizeOfFiles returns the size in bytes of all files of a commit, as git stores them.
func sizeOfFiles(ctx context.Context, r *git.Repo, commit string) (size int64, err error) {
	out, err := r.Run(ctx, git.Call{Args: []string{"ls-tree", "-r", "-z", "--format=%(objectname)", commit},
		Most: mostListed})
	if err != nil {
		return 0, err
	}
	times := map[string]int64{}
	for id := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		times[id]++
	}
	out, err = r.Run(ctx, git.Call{Args: []string{"cat-file", "--batch-check=%(objectname) %(objectsize)"},
		Most: 2 * mostListed, Stdin: strings.NewReader(strings.Join(slices.Collect(maps.Keys(times)), "\n") + "\n")})
	for line := range strings.Lines(string(out)) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		one, _ := strconv.ParseInt(text, 10, 64) // the commit of a submodule is missing, and has no size
		size += one * times[id]
	}
	return size, err
}
