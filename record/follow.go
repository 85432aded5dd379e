package record

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// readGap is the shortest time between two reads of a record. Some agent CLIs write to the
	// record many times a second while a model streams. The gap delays the end of a turn by at most
	// 20 ms.
	readGap = 20 * time.Millisecond
	// findGap is the shortest time between two searches for a record that has not been found yet. A
	// search may have to read everything that an agent CLI has logged.
	findGap = 500 * time.Millisecond
)

// Follower reads one record while the agent CLI writes it.
type Follower struct {
	source Source
	where  func() Where // returns which record to read; this changes with the conversation, and can be unknown at first
	take   func([]Entry)
	waked  chan struct{}
	asked  chan chan<- struct{} // receives a channel from CatchUp, which Run closes after it has read the record
	ended  chan struct{}        // closed when Run has returned

	ready     atomic.Bool            // true after an entry of the kind Ready, or if the source has no such entries
	path      atomic.Pointer[string] // path of the record; nil until the record is found
	found     Where                  // what the function `where` returned when the record was found
	tail      Tail
	subagents *subagentRecords         // the records of subagents; nil until the record is found
	also      atomic.Pointer[[]string] // the subagents' files and folders, whose changes concern the Follower too
	from      string                   // path of the record whose entries the function `take` is receiving
}

// NewFollower returns a Follower of the record that findRecord names. Run passes the new entries to
// takeEntries in order, and begins with the entries that the record already has. Run also passes on
// the tokens in the records of the conversation's subagents. One call of takeEntries receives
// entries of only one record.
func NewFollower(s Source, findRecord func() Where, takeEntries func([]Entry)) *Follower {
	f := &Follower{source: s, where: findRecord, take: takeEntries, waked: make(chan struct{}, 1),
		asked: make(chan chan<- struct{}), ended: make(chan struct{})}
	f.ready.Store(!s.ReportsReady)
	return f
}

// Wake makes the Follower look at the record now. A caller must call Wake on a file system that
// does not report changes, and can call it whenever it knows of a change.
func (f *Follower) Wake() {
	select {
	case f.waked <- struct{}{}:
	default:
	}
}

// CatchUp makes the Follower read the record to its present end. It returns after takeEntries has
// received the new entries, or when the time limit has passed. It returns at once if Run has
// returned. Do not hold a lock that takeEntries or findRecord needs, because CatchUp waits for
// them.
func (f *Follower) CatchUp(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	over := make(chan struct{})
	select {
	case f.asked <- over:
	case <-timer.C:
		return
	case <-f.ended:
		return
	}
	select {
	case <-over:
	case <-timer.C:
	case <-f.ended:
	}
}

// Name returns the name of the record whose entries are being passed on. Each record of an agent
// CLI has a different name. Call Name only inside takeEntries, the function that was passed to
// NewFollower.
func (f *Follower) Name() string {
	return filepath.Base(f.from) + " " + f.found.Conversation
}

// Run follows the record until ctx ends. The Watcher w reports changes of files. Run can be called
// only once.
func (f *Follower) Run(ctx context.Context, w *Watcher) {
	defer close(f.ended)
	defer w.watch(f, nil)
	defer f.close()
	for {
		f.look(w)
		gap := readGap
		if f.tail == nil {
			gap = findGap
		}
		if !f.awaitLook(ctx, w, gap) {
			return
		}
	}
}

// awaitLook waits until the Follower must look at the record again. It waits for the time `gap`, and
// then for a call of Wake. If CatchUp asks for a look in the meantime, awaitLook looks at once and
// continues to wait. It returns false if ctx has ended, and true otherwise.
func (f *Follower) awaitLook(ctx context.Context, w *Watcher, gap time.Duration) bool {
	timer := time.NewTimer(gap)
	defer timer.Stop()
	var waked <-chan struct{} // nil during the gap
	for {
		select {
		case <-ctx.Done():
			return false
		case over := <-f.asked:
			f.look(w)
			close(over)
		case <-timer.C:
			waked = f.waked
		case <-waked:
			return true
		}
	}
}

func (f *Follower) close() {
	if f.tail != nil {
		f.tail.Close()
		f.subagents.close()
	}
}

// look finds the record, and reads the new entries. It watches the folders before it reads. In the
// other order, it could miss a change between the two steps.
func (f *Follower) look(w *Watcher) {
	if where := f.where(); f.tail == nil || where != f.found {
		f.path.Store(nil) // without a path, every change of a file counts as a change of the record
		f.watchFor(w, where)
		path := f.source.Find(where)
		if path == "" {
			return
		}
		f.close()
		f.path.Store(&path)
		f.found, f.tail, f.from = where, f.source.Open(path, where), path
		f.subagents = newSubagentRecords(f.source.Subagents, path, where)
		f.also.Store(nil)
		w.watch(f, []string{filepath.Dir(path)})
	}
	f.lookWhetherReady()
	for f.subagents.search() {
		f.watchBelow(w)
	}
	own := f.tail.Next()
	f.takeBoth(own, f.subagents.next(own))
}

// takeBoth passes on the entries of the conversation and of its subagents, in the order of their
// times.
func (f *Follower) takeBoth(own []Entry, subagents []subagentEntry) {
	path := *f.path.Load()
	for _, b := range subagents {
		n := 0
		for n < len(own) && !own[n].Time.After(b.Time) {
			n++
		}
		f.takeOf(path, own[:n])
		f.takeOf(b.path, []Entry{b.Entry})
		own = own[n:]
	}
	f.takeOf(path, own)
}

// takeOf passes on the entries of the record at path.
func (f *Follower) takeOf(path string, entries []Entry) {
	if len(entries) == 0 {
		return
	}
	f.from = path
	f.take(entries)
}

// lookWhetherReady passes on an entry of the kind Ready when any file that matches the record's
// pattern has been written. It does not only check the file that the Follower reads, because an agent
// CLI that resumes a conversation may write to another file.
func (f *Follower) lookWhetherReady() {
	if f.ready.Load() {
		return
	}
	if at := f.source.writtenAt(f.found); !at.IsZero() {
		f.ready.Store(true)
		f.takeOf(*f.path.Load(), []Entry{{Kind: Ready, Time: at}})
	}
}

// concerns reports whether a change of the file at path can be a change of the record. Until the
// agent CLI is ready, any change counts, because it can be the sign that the agent CLI is ready. A
// path that begins with the record's path counts too, because SQLite writes to such files beside a
// database.
func (f *Follower) concerns(path string) bool {
	own := f.path.Load()
	if own == nil || !f.ready.Load() || strings.HasPrefix(path, *own) {
		return true
	}
	also := f.also.Load()
	return also != nil && (slices.Contains(*also, path) || slices.Contains(*also, filepath.Dir(path)))
}

// watchBelow makes w watch the folders of the subagents' records, in addition to the folder of
// the conversation's record.
func (f *Follower) watchBelow(w *Watcher) {
	also := f.subagents.places()
	f.also.Store(&also)
	folders := append([]string{filepath.Dir(*f.path.Load())}, f.subagents.folders...)
	for _, path := range f.subagents.records {
		folders = append(folders, filepath.Dir(path))
	}
	slices.Sort(folders)
	w.watch(f, slices.Compact(folders))
}

// watchFor watches the folders in which the record can appear. It searches for folders again until
// it finds no new ones, because a folder can appear just before its parent is watched.
func (f *Follower) watchFor(w *Watcher, where Where) {
	var watched []string
	for {
		folders := f.source.folders(where)
		if slices.Equal(folders, watched) {
			return
		}
		w.watch(f, folders)
		watched = folders
	}
}
