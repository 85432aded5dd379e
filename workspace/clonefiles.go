package workspace

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// The code in this file limits the number and the size of the files in a commit that an arm has made in its clone.

// These constants bound the files of a commit that comes from a clone. They are necessary because a few small tree
// objects of git can describe any number of files, if each tree contains another one many times.
const (
	mostListed    = 128 << 20 // size of the list of all files' ids, in bytes: about 3 million files
	mostFileBytes = 16 << 30  // total size of a commit's files, minus that of the files in the commit where the work began
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
	listing, cancel := context.WithCancel(ctx)
	defer cancel()
	ids := idCounter{times: map[string]*int64{}, full: cancel}
	_, err = r.Run(listing, git.Call{Args: []string{"ls-tree", "-r", "-z", "--format=%(objectname)", commit},
		Stdout: &ids})
	if ids.listed > mostListed {
		return 0, git.ErrTooLarge
	}
	if err != nil {
		return 0, err
	}
	times := ids.times
	out, err := r.Run(ctx, git.Call{Args: []string{"cat-file", "--batch-check=%(objectname) %(objectsize)"},
		Most: 2 * mostListed, Stdin: strings.NewReader(strings.Join(slices.Collect(maps.Keys(times)), "\n") + "\n")})
	for line := range strings.Lines(string(out)) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		one, _ := strconv.ParseInt(text, 10, 64) // 0 if this repository lacks the object, such as the commit of a submodule
		if n := times[id]; n != nil {
			size += one * *n
		}
	}
	return size, err
}

// idCounter counts how often each id occurs in the output of git. Each id in the output ends with a zero byte.
// idCounter stores equal ids only once, because a small tree object can describe millions of equal files. After
// mostListed bytes, idCounter calls `full`, which stops git.
type idCounter struct {
	times  map[string]*int64
	rest   []byte // the beginning of an id whose end is not yet written
	listed int64  // in bytes
	full   func()
}

func (c *idCounter) Write(data []byte) (int, error) {
	if c.listed += int64(len(data)); c.listed > mostListed {
		c.full()
		return len(data), nil
	}
	for left := data; ; {
		id, after, ended := bytes.Cut(left, []byte{0})
		if len(c.rest) > 0 {
			c.rest = append(c.rest, id...)
			id = c.rest
		}
		if !ended {
			c.rest = append(c.rest[:0], id...)
			return len(data), nil
		}
		if n := c.times[string(id)]; n != nil {
			*n++
		} else {
			c.times[string(id)] = new(int64(1))
		}
		c.rest, left = c.rest[:0], after
	}
}
