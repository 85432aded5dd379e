package diffs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/filewatch"
)

const (
	// quiet is how long the files must be unchanged before a diff is read, because an agent CLI
	// writes several files in a row. If the files never stay unchanged for so long, the diff is
	// read after mostQuiet.
	quiet     = 100 * time.Millisecond
	mostQuiet = time.Second
	// pause is the shortest time between two diffs of an arm that somebody follows. After a slow
	// diff, the pause is restTimes times as long as the diff took. So following an arm takes at
	// most a fifth of a core.
	pause     = 500 * time.Millisecond
	restTimes = 4
	// linger is how long the folders of an arm are watched after the last request. A follower sends
	// its next request within milliseconds.
	linger = 30 * time.Second
	// mostWait is the longest time that one request waits for a change. A follower then sends
	// another request.
	mostWait = 10 * time.Minute
	// mostRequests is the largest number of remembered diffs of one arm. Several followers can ask
	// for different files, and each request has its own last diff.
	mostRequests = 16
)

// lastRead is the last diff that was read for a request.
type lastRead struct {
	number int // how many changes of the files were reported before the diff was read
	mark   string
	ended  time.Time
	took   time.Duration
}

// follow returns the arm's changes as soon as they differ from what the caller already has. The
// caller passes the hash of its last diff in w.Since. If nothing changes within w.Wait, the result
// says so. No git process runs while nothing changes.
func (d *Diffs) follow(ctx context.Context, a Arm, w changes.DiffRequest) (changes.Diff, error) {
	if err := canFollow(); err != nil {
		return changes.Diff{}, err
	}
	all, err := d.openAll(ctx, a)
	if err != nil {
		return changes.Diff{}, err
	}
	defer all.close()
	var t trees
	for _, one := range all {
		t = append(t, d.tree(one.folder))
	}
	defer func() {
		for _, one := range t {
			d.releaseTree(one)
		}
	}()
	till := time.NewTimer(min(w.Wait, mostWait))
	defer till.Stop()
	key := keyOf(w)
	for {
		number := t.changeCount()
		last := t[0].lastOf(key)
		if last.mark == "" || last.mark != w.Since || last.number != number {
			diff, err := d.reread(ctx, a, all, t, w)
			if err != nil || diff.Mark != w.Since {
				return diff, err
			}
		}
		if !t.awaitChange(ctx, number, till.C) {
			return changes.Diff{Root: all.root(a), Time: d.Now().UTC(), Files: []changes.File{}, Mark: w.Since,
				Unchanged: true}, ctx.Err()
		}
		t.waitForQuiet(ctx)
		waitForNextDiff(ctx, t[0].lastOf(key))
	}
}

// reread watches new folders, and reads the diff.
func (d *Diffs) reread(ctx context.Context, a Arm, all repositories, t trees,
	w changes.DiffRequest) (changes.Diff, error) {
	number := t.changeCount()
	for n, one := range all {
		if err := t[n].catchUp(ctx, one.folder, d.watchRoom(t[n])); err != nil {
			return changes.Diff{}, err
		}
	}
	began := d.Now()
	diff, err := all.diff(ctx, a, w, began.UTC())
	if err != nil {
		return diff, err
	}
	if diff.Mark, err = markOf(diff); err != nil {
		return diff, err
	}
	t[0].remember(keyOf(w), lastRead{number: number, mark: diff.Mark, ended: time.Now(), took: d.Now().Sub(began)})
	return diff, nil
}

// keyOf returns a key for a request. Requests with the same key have the same diff.
func keyOf(w changes.DiffRequest) string {
	w.Since, w.Wait = "", 0
	data, _ := json.Marshal(w) // cannot fail, because JSON can express all fields of a DiffRequest
	return string(data)
}

// markOf returns a hash of a diff, with which a caller recognizes a diff that it already has. The
// time of the diff does not affect the hash.
func markOf(d changes.Diff) (string, error) {
	d.Time, d.Head, d.Repos = time.Time{}, "", nil
	data, err := json.Marshal(d)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), err
}

func (t *tree) lastOf(key string) lastRead {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last[key]
}

func (t *tree) remember(key string, l lastRead) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) >= mostRequests {
		clear(t.last)
	}
	t.last[key] = l
}

// waitForQuiet waits until no more changes are reported, or until mostQuiet has passed.
func (t trees) waitForQuiet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, mostQuiet)
	defer cancel()
	for t.awaitChange(ctx, t.changeCount(), time.After(quiet)) {
	}
}

// trees watch the repositories of one arm.
type trees []*tree

// changeCount returns the number of changes so far in all repositories.
func (t trees) changeCount() (sum int) {
	for _, one := range t {
		number, _ := one.changeCount()
		sum += number
	}
	return sum
}

// awaitChange waits until changeCount differs from `number`. It returns false if ctx ends first, or
// if the channel `over` delivers a value first.
func (t trees) awaitChange(ctx context.Context, number int, over <-chan time.Time) bool {
	changed := make(chan struct{}, len(t))
	ended := make(chan struct{})
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer close(ended)
	for _, one := range t {
		count, next := one.changeCount()
		number -= count
		waiting.Go(func() {
			select {
			case <-next:
				changed <- struct{}{}
			case <-ended:
			}
		})
	}
	if number != 0 {
		return true
	}
	select {
	case <-changed:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// waitForNextDiff waits until the next diff may be read.
func waitForNextDiff(ctx context.Context, last lastRead) {
	select {
	case <-time.After(time.Until(last.ended.Add(max(pause, restTimes*last.took)))):
	case <-ctx.Done():
	}
}

// tree returns the tree that watches the folders of a work folder. The caller must call releaseTree.
func (d *Diffs) tree(f *folder.Folder) *tree {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Files == nil {
		d.Files = filewatch.New()
	}
	if d.trees == nil {
		d.trees = map[string]*tree{}
	}
	t := d.trees[f.Root()]
	if t == nil || t.gitDir != f.GitFolder() {
		t = newTree(d.Files, f.Root(), f.GitFolder())
		d.trees[f.Root()] = t
	}
	t.pollers++
	if t.ending != nil {
		t.ending.Stop()
	}
	return t
}

// releaseTree ends the use of a tree by one request. If no other request uses the tree within the
// duration `linger`, the folders are no longer watched.
func (d *Diffs) releaseTree(t *tree) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.pollers--
	if t.pollers > 0 {
		return
	}
	t.ending = time.AfterFunc(linger, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.pollers > 0 {
			return
		}
		if d.trees[t.root] == t {
			delete(d.trees, t.root)
		}
		t.listener.Close()
	})
}

// Close stops watching all folders.
func (d *Diffs) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for root, t := range d.trees {
		if t.ending != nil {
			t.ending.Stop()
		}
		t.listener.Close()
		delete(d.trees, root)
	}
}
