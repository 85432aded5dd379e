// Package diffs reads what an arm has changed in its folder, and makes a checkpoint of the files
// after each turn.
//
// It does not know sessions or states. Package host decides when a turn has ended, and whether
// files may be restored.
package diffs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/filewatch"
	"coleo.dev/paths"
	"coleo.dev/workspace/git"
)

const (
	// keepTime limits how long one checkpoint can take. If a checkpoint takes longer, this process
	// makes no more checkpoints of that folder, because each turn would keep a processor busy.
	keepTime = 30 * time.Second
	// pieceSize is the size of one piece of a diff, in bytes. In base64, a piece fits into a
	// message of the bus.
	pieceSize = 2 << 20
	// readTime is how long a diff is kept for a caller that reads its other pieces.
	readTime = time.Minute
	// mostRead is the maximum number of diffs that are kept at a time. Each diff has at most about
	// 30 MB.
	mostRead = 4
)

// Arm is an arm and its folder.
type Arm struct {
	ID     string
	Folder string
	// Repos lists the arm's repositories if the arm works in the folder above them. Otherwise Repos
	// is empty, and the arm works in the repository that contains Folder.
	Repos []Repo
}

// Repo is one of several repositories of an arm.
type Repo struct {
	Name   string // the name of its folder, which is below the arm's folder
	Folder string // its path
}

// Diffs reads the changes in the files of a host's arms, and keeps checkpoints of the files.
// Several goroutines can call its methods at the same time.
type Diffs struct {
	// CloneOf returns the clone that git must find in a folder. It returns the zero value if git
	// may find any repository there. An arm in a sandbox can change the .git of its clone, but must
	// not be able to lead git into another repository. CloneOf can be nil.
	CloneOf func(ctx context.Context, folder string) (git.Clone, error)
	Environ []string // the user's environment; git is found in its PATH
	Scratch string   // a folder for temporary files
	Log     *slog.Logger
	Now     func() time.Time
	// Files watches the folders of the arms that somebody follows. A process uses one Watcher for
	// all folders. If Files is nil, Diffs creates a Watcher.
	Files *filewatch.Watcher
	// MostFolders is how many folders Diffs watches at most. If it is 0, the kernel's limit decides.
	MostFolders int

	keeping sync.Mutex // held during a checkpoint after a turn, so that only one runs at a time

	mu      sync.Mutex
	indexes *folder.Indexes
	trees   map[string]*tree   // by the top folder of the repository
	arms    map[string]*keeper // by id
	read    map[string]piecewise
}

// keeper is what Diffs knows about one arm.
type keeper struct {
	files   sync.Mutex // held while checkpoints are written or restored
	waiting bool       // a call of Keep waits for the lock keeping; guarded by Diffs.mu
	none    bool       // the arm gets no checkpoints, because its folder is too large; guarded by Diffs.mu
}

// piecewise is a diff that a caller reads in pieces.
type piecewise struct {
	data []byte
	till time.Time
}

func (d *Diffs) keeper(id string) *keeper {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.arms == nil {
		d.arms = map[string]*keeper{}
	}
	k := d.arms[id]
	if k == nil {
		k = &keeper{}
		d.arms[id] = k
	}
	return k
}

func (d *Diffs) open(ctx context.Context, dir string) (*folder.Folder, error) {
	if err := os.MkdirAll(d.Scratch, 0o700); err != nil {
		return nil, err
	}
	program, err := git.Find(d.Environ, d.Scratch)
	if err != nil {
		return nil, err
	}
	var clone git.Clone
	if d.CloneOf != nil {
		if clone, err = d.CloneOf(ctx, dir); err != nil {
			return nil, err
		}
	}
	open := folder.Open
	if clone.Git != "" {
		open = folder.OpenerOf(clone)
	}
	f, err := open(ctx, program, dir, d.Scratch)
	if err != nil {
		return nil, err
	}
	return f.Using(d.copies()), nil
}

// copies returns the object that keeps copies of large git indexes. The first call creates it.
func (d *Diffs) copies() *folder.Indexes {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.indexes == nil {
		d.indexes = &folder.Indexes{Dir: filepath.Join(d.Scratch, "indexes")}
	}
	return d.indexes
}

// Keep makes a checkpoint of the arm's files if they have changed. It also stores the commit at
// which the arm's work begins. Keep can take up to keepTime, so callers run it in a goroutine. It
// logs failures. Keep does nothing if another checkpoint of the arm waits, or if the arm works
// outside of a git repository.
func (d *Diffs) Keep(ctx context.Context, a Arm, reason, run string) {
	if reason == changes.AtStart {
		// Do not wait for checkpoints of other arms, because the agent CLI may make its first commit meanwhile.
		if err := d.rememberBase(ctx, a); err != nil {
			d.Log.Debug("store the base of an arm before its checkpoint", "arm", a.ID, "error", err)
		}
	}
	k := d.keeper(a.ID)
	d.mu.Lock()
	skip := k.waiting || k.none
	k.waiting = k.waiting || !skip
	d.mu.Unlock()
	if skip {
		return
	}
	d.keeping.Lock()
	defer d.keeping.Unlock()
	k.files.Lock()
	defer k.files.Unlock()
	d.mu.Lock()
	k.waiting = false
	d.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	err := d.keep(limited, a, folder.Note{Reason: reason, Run: run, Time: d.Now()})
	code := coleo.ErrorCode(err)
	if err == nil || ctx.Err() != nil || code == coleo.EUnsupported || code == coleo.ENotInstalled {
		return
	}
	// The next checkpoint would fail in the same way, so make no more of them.
	if code == coleo.EInvalid || limited.Err() != nil {
		d.mu.Lock()
		k.none = true
		d.mu.Unlock()
		err = fmt.Errorf("this arm gets no more checkpoints: %w", err)
	}
	d.Log.Warn("make a checkpoint", "arm", a.ID, "folder", a.Folder, "error", err)
}

// rememberBase stores the commit at which the arm's work begins, unless it is stored already.
func (d *Diffs) rememberBase(ctx context.Context, a Arm) error {
	all, err := d.openAll(ctx, a)
	if err != nil {
		return err
	}
	defer all.close()
	return all.rememberBase(ctx, a)
}

func (d *Diffs) keep(ctx context.Context, a Arm, n folder.Note) error {
	all, err := d.openAll(ctx, a)
	if err != nil {
		return err
	}
	defer all.close()
	if err := all.rememberBase(ctx, a); err != nil {
		return err
	}
	if len(a.Repos) > 0 {
		return nil
	}
	_, _, err = all[0].folder.Keep(ctx, a.ID, n)
	return err
}

// Diff returns the first piece of the arm's changes, or the next piece of an earlier diff.
func (d *Diffs) Diff(ctx context.Context, a Arm, o bus.DiffOrder) (bus.Piece, error) {
	if o.ID != "" {
		return d.piece(o.ID, o.From)
	}
	diff, err := d.requestedDiff(ctx, a, o.Request)
	if err != nil {
		return bus.Piece{}, err
	}
	data, err := json.Marshal(diff)
	if err != nil {
		return bus.Piece{}, err
	}
	return d.firstPiece(data), nil
}

// requestedDiff returns the diff that a request asks for.
func (d *Diffs) requestedDiff(ctx context.Context, a Arm, w changes.DiffRequest) (changes.Diff, error) {
	if w.Wait > 0 && w.Checkpoint == nil {
		return d.follow(ctx, a, w)
	}
	if err := a.checkOne(w.Checkpoint != nil); err != nil {
		return changes.Diff{}, err
	}
	all, err := d.openAll(ctx, a)
	if err != nil {
		return changes.Diff{}, err
	}
	defer all.close()
	if w.Checkpoint != nil {
		return all[0].folder.DiffCheckpoint(ctx, a.ID, *w.Checkpoint, w)
	}
	return all.diff(ctx, a, w, d.Now().UTC())
}

// firstPiece returns the first piece of a diff, and keeps the diff until its other pieces are
// read.
func (d *Diffs) firstPiece(data []byte) bus.Piece {
	if len(data) <= pieceSize {
		return bus.Piece{Data: data, Total: len(data)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	if d.read == nil {
		d.read = map[string]piecewise{}
	}
	for id, p := range d.read {
		if now.After(p.till) || len(d.read) >= mostRead {
			delete(d.read, id)
		}
	}
	id := rand.Text()
	d.read[id] = piecewise{data, now.Add(readTime)}
	return bus.Piece{ID: id, Data: data[:pieceSize], Total: len(data)}
}

// piece returns the piece of a kept diff that begins at the given byte offset. After the last
// piece, it drops the diff.
func (d *Diffs) piece(id string, from int) (bus.Piece, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := d.read[id]
	if !ok || from < 0 || from > len(p.data) {
		return bus.Piece{}, coleo.Errorf(coleo.EStale, "the diff is no longer kept: ask for it again")
	}
	end := min(from+pieceSize, len(p.data))
	if end == len(p.data) {
		delete(d.read, id)
	}
	return bus.Piece{ID: id, Data: bytes.Clone(p.data[from:end]), Total: len(p.data)}, nil
}

// Checkpoints returns the checkpoints of an arm, the oldest first.
func (d *Diffs) Checkpoints(ctx context.Context, a Arm) ([]changes.Checkpoint, error) {
	if err := a.checkOne(true); err != nil {
		return nil, err
	}
	f, err := d.open(ctx, a.Folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Checkpoints(ctx, a.ID)
}

// Restore puts the files of a checkpoint back: see folder.Folder.Restore. Before the first change
// of a file, it calls beforeChange with the top folder of the repository. During a restore, Diffs
// makes no checkpoint of the arm.
func (d *Diffs) Restore(ctx context.Context, a Arm, n int,
	beforeChange func(root string) error) (changes.Restored, error) {
	if err := a.checkOne(true); err != nil {
		return changes.Restored{}, err
	}
	k := d.keeper(a.ID)
	k.files.Lock()
	defer k.files.Unlock()
	f, err := d.open(ctx, a.Folder)
	if err != nil {
		return changes.Restored{}, err
	}
	defer f.Close()
	look := func() error { return beforeChange(f.Root()) }
	if err := look(); err != nil {
		return changes.Restored{}, err
	}
	return f.Restore(ctx, a.ID, n, folder.Note{Time: d.Now()}, look)
}

// Forget removes the git refs that keep the checkpoints of an arm. The arm itself is being removed.
func (d *Diffs) Forget(ctx context.Context, a Arm) error {
	d.mu.Lock()
	delete(d.arms, a.ID)
	d.mu.Unlock()
	folders := []string{a.Folder}
	if len(a.Repos) > 0 {
		folders = nil
	}
	for _, repo := range a.Repos {
		folders = append(folders, repo.Folder)
	}
	var failed error
	for _, one := range folders {
		f, err := d.open(ctx, one)
		switch coleo.ErrorCode(err) {
		case "":
			failed = errors.Join(failed, f.Forget(ctx, a.ID))
			f.Close()
		case coleo.EUnsupported, coleo.ENotInstalled, coleo.EInvalid: // the folder is gone, or is in no repository
		default:
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// Below reports whether path is dir or is below dir. It resolves symbolic links in path, but not in
// dir.
func Below(dir, path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return paths.Within(dir, path)
}
