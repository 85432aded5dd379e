package folder

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"coleo.dev/changes"
)

// The code in this file begins to compare files before git status has finished its search for changed files. In a large
// repository, git status uses only one processor at the end of its search. The comparison then uses another processor.
//
// The compared files are those that the previous diff found. The result is used only if the search then finds exactly
// these files with the same versions. Otherwise git compares again. So the result is never out of date: git always
// reads the files after the diff has begun.

// lastOf returns the files that the last diff of a folder has found. It returns nil if x has no copy of the folder's
// index, or if the last diff has found nothing.
func (x *Indexes) lastOf(gitDir string) []path {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if own := x.kept[gitDir]; own != nil {
		return own.last
	}
	return nil
}

// remember stores the files that a diff has found, for the next diff. It does nothing if x has no copy of the
// folder's index.
func (x *Indexes) remember(gitDir string, paths []path) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if own := x.kept[gitDir]; own != nil {
		own.last = slices.Clone(paths[:min(len(paths), changes.MaxFiles)])
	}
}

// ahead is a comparison that began before git status had said which files must be compared.
type ahead struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	begun   chan struct{} // closed when `index` is known

	index []byte // the index that git compares with the files; nil if no git was started
	out   []byte
	err   error
}

// compareAhead begins to compare the given paths. The caller must call stop.
func (f *Folder) compareAhead(ctx context.Context, paths []path, w changes.DiffRequest) *ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := &ahead{cancel: cancel, begun: make(chan struct{})}
	if len(paths) == 0 || f.snapshots {
		close(a.begun)
		return a
	}
	a.running.Go(func() {
		index, err := f.indexAhead(paths)
		a.index, a.err = index, err
		close(a.begun)
		if index != nil && err == nil {
			a.out, a.err = f.runAhead(ctx, comparison{head: headOf(paths), request: w})
		}
	})
	return a
}

// indexAhead writes an index with the base's versions of the paths, and returns its content. It returns nil if git
// cannot compare the files directly. Like every comparison, it first checks what each path contains.
func (f *Folder) indexAhead(paths []path) ([]byte, error) {
	entries, _, direct := f.lookAll(paths)
	if !direct || len(entries) == 0 {
		return nil, nil
	}
	index, err := f.indexOf(entries)
	if err != nil {
		return nil, err
	}
	return index, os.WriteFile(f.aheadIndex(), index, 0o600)
}

func (f *Folder) aheadIndex() string { return filepath.Join(f.own, "ahead") }

func (f *Folder) runAhead(ctx context.Context, c comparison) ([]byte, error) {
	c.args, c.env = []string{"diff"}, f.privateForDiff(f.aheadIndex())
	out, cut, err := f.runDiff(ctx, c, f.patchOptions(c.request)...)
	if err == nil && cut {
		err = errors.New("the output is too large")
	}
	return out, err
}

// result waits for git, and returns what it has printed. It returns nil if git has failed. If git was started with
// another index than the given one, result ends git and returns nil.
func (a *ahead) result(index []byte) []byte {
	<-a.begun
	if !bytes.Equal(a.index, index) {
		a.cancel()
		return nil
	}
	a.running.Wait()
	if a.err != nil {
		return nil
	}
	return a.out
}

// stop ends git if it still runs.
func (a *ahead) stop() {
	a.cancel()
	a.running.Wait()
}
