package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// This file keeps copies of work folders' indexes, so that git need not read all files for each
// diff.

const (
	// leastIndex is the size of the smallest index that Indexes copies, in bytes. Such an index has about 300
	// files. In a smaller repository, git reads all files within some milliseconds.
	leastIndex = 32 << 10
	// mostIndex is the size of the largest index that is read, in bytes. Such an index has about 2 million
	// files.
	mostIndex = 256 << 20
	// mostIndexes is the largest number of copies. A copy for 100,000 files takes 8 MB of the disk.
	mostIndexes = 16
)

// Indexes keeps a copy of the index of each work folder. Git writes into the copy which files it has read and
// which folders contain untracked files. So the next diff need not read all files again.
//
// Indexes never trusts what the work folder's own index contains about the state of the files, because an arm
// can write that index: see copyIndex. The zero value keeps no copies. Several goroutines may call its
// methods at the same time.
type Indexes struct {
	// Dir is the folder for the copies. If Dir is "", there are no copies. Only one process at a time may use
	// Dir. The first use deletes what an earlier process has left in it.
	Dir string
	// Least is the size of the smallest index that Indexes copies, in bytes. If Least is 0, leastIndex
	// applies.
	Least int64

	mu   sync.Mutex
	kept map[string]*ownIndex // copies by the path of the git folder; nil before the first copy
	uses int                  // counts the uses of all copies
}

// ownIndex is the copy of one index.
type ownIndex struct {
	path string
	used int // the value of Indexes.uses at the last use; guarded by Indexes.mu

	mu sync.Mutex
	of identity // identifies the version of the index that was copied; zero if there is no copy

	last []path // the files that the last diff has found; guarded by Indexes.mu
}

// identity distinguishes one version of a file from the next.
type identity struct {
	inode         uint64
	size          int64
	written, made time.Time // the times of the last changes of the content and of the inode
}

// status asks git for the status of a folder. Git uses a copy of the folder's index. For a clone, status also returns
// what the copy contains.
func (x *Indexes) status(ctx context.Context, f *Folder) (changes.Status, map[string]version, error) {
	own, err := x.lockCopy(ctx, f)
	if err == nil && own != nil {
		defer own.mu.Unlock()
		before, since := own.version(), time.Now()
		s, listed, err := f.statusWith(ctx, own.path, keepsTimes(f.repo.Work))
		if own.clearRecent(store{format: f.format}, before, since) != nil {
			own.forget()
		}
		// Forget the copy and its list of untracked files, because git warns about an unreadable folder
		// only while it makes a new list.
		if len(s.Unread) > 0 {
			own.forget()
		}
		if err == nil || ctx.Err() != nil {
			return s, listed, err
		}
		own.forget() // git status has failed, so the copy may be damaged
	}
	path := filepath.Join(f.own, "status")
	_ = os.Remove(path) // start without this file, in which an earlier status has noted times
	if err := f.copyIndex(ctx, path); err != nil {
		return changes.Status{}, nil, err
	}
	return f.statusWith(ctx, path, false)
}

// statusWith asks git for the status of a folder. Git uses the index at the path `index`. If `lists` is true,
// git keeps its list of untracked files there.
func (f *Folder) statusWith(ctx context.Context, index string, lists bool) (changes.Status, map[string]version, error) {
	warnings := ""
	out, err := f.repo.Run(ctx, git.Call{Args: []string{"status", "--porcelain=v2", "--branch", "-z",
		"--untracked-files=all", "--no-renames", "--no-ahead-behind"}, OwnIndex: index, OwnLists: lists,
		Warn: func(text string) { warnings = text }})
	if err != nil {
		return changes.Status{}, nil, err
	}
	s, err := changes.ParseStatus(out)
	s.AddWarnings(warnings)
	if err != nil || f.main == nil {
		return s, nil, err
	}
	listed, err := f.versionsInIndex(index)
	return s, listed, err
}

// lockCopy returns the locked copy of the folder's index. If the index has changed, lockCopy copies it again
// first. It returns nil if the folder has no copy, or if another diff is using the copy.
func (x *Indexes) lockCopy(ctx context.Context, f *Folder) (*ownIndex, error) {
	if x == nil || x.Dir == "" {
		return nil, nil
	}
	info, err := os.Lstat(f.index())
	least := x.Least
	if least == 0 {
		least = leastIndex
	}
	if err != nil || info.Size() < least {
		return nil, err
	}
	own, err := x.copyOf(f.repo.Git)
	if err != nil || !own.mu.TryLock() {
		return nil, err
	}
	now := identify(info)
	if known := now != (identity{}) && own.of == now; known && exists(own.path) {
		return own, nil
	}
	own.of = identity{}
	_ = os.Remove(own.path + ".lock") // a killed git leaves this lock behind
	if err := f.copyIndex(ctx, own.path); err != nil {
		own.forget()
		own.mu.Unlock()
		return nil, err
	}
	own.of = now
	return own, nil
}

// copyOf returns the copy for a git folder. If there are too many copies, it first deletes the least recently
// used one.
func (x *Indexes) copyOf(gitDir string) (*ownIndex, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.kept == nil {
		if err := errors.Join(os.RemoveAll(x.Dir), os.MkdirAll(x.Dir, 0o700)); err != nil {
			return nil, err
		}
		x.kept = map[string]*ownIndex{}
	}
	own := x.kept[gitDir]
	if own == nil {
		x.makeRoom()
		sum := sha256.Sum256([]byte(gitDir))
		own = &ownIndex{path: filepath.Join(x.Dir, hex.EncodeToString(sum[:]))}
		x.kept[gitDir] = own
	}
	x.uses++
	own.used = x.uses
	return own, nil
}

func (x *Indexes) makeRoom() {
	for len(x.kept) >= mostIndexes {
		oldest := ""
		for name, own := range x.kept {
			if oldest == "" || own.used < x.kept[oldest].used {
				oldest = name
			}
		}
		own := x.kept[oldest]
		if !own.mu.TryLock() {
			return // a diff is using this copy; a later call removes it
		}
		own.forget()
		own.mu.Unlock()
		delete(x.kept, oldest)
	}
}

// version returns the present identity of the file with the copy. If there is no copy, it returns the zero identity.
func (o *ownIndex) version() identity {
	info, err := os.Lstat(o.path)
	if err != nil {
		return identity{}
	}
	return identify(info)
}

// forget deletes the copy. The caller must have locked it.
func (o *ownIndex) forget() {
	o.of = identity{}
	_ = os.Remove(o.path)
	_ = os.Remove(o.path + ".lock") // a killed git leaves this lock behind
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
