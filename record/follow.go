package record

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
)

// mostLine bounds a line of a record, in bytes. A longer one is skipped: it holds a picture
// or the output of a tool, and no end of a turn.
const mostLine = 4 << 20

// Follower reads one record while the agent CLI writes it.
type Follower struct {
	source Source
	where  func() Where // the conversation may become known later, or change
	take   func([]Entry)
	waked  chan struct{}

	at      atomic.Pointer[string] // the same as path, for the Watcher; nil while there is none
	found   Where                  // whose record path is
	path    string
	offset  int64
	rest    []byte // the beginning of a line whose end is not written yet
	skips   bool   // the rest of a line that is too long
	decoder Decoder
}

// NewFollower returns a Follower of the record that where names. It calls take with the
// entries, in order, from the goroutine of Run. A record that was there before is read
// from its beginning.
func NewFollower(s Source, where func() Where, take func([]Entry)) *Follower {
	return &Follower{source: s, where: where, take: take, waked: make(chan struct{}, 1)}
}

// Wake makes the Follower look at the record now. It is for file systems that report no
// changes, and for callers that know of one.
func (f *Follower) Wake() {
	select {
	case f.waked <- struct{}{}:
	default:
	}
}

// Run follows the record until ctx ends.
func (f *Follower) Run(ctx context.Context, w *Watcher) {
	defer w.watch(f, nil)
	for {
		f.look(w)
		select {
		case <-ctx.Done():
			return
		case <-f.waked:
		}
	}
}

// look finds the record and reads what is new. The folders are watched before that, so no
// change falls between the two.
func (f *Follower) look(w *Watcher) {
	if where := f.where(); f.path == "" || where != f.found {
		f.watchFor(w, where)
		path := f.source.Find(where)
		if path == "" {
			return
		}
		f.found = where
		f.begin(path)
		w.watch(f, []string{filepath.Dir(path)})
	}
	if entries := f.read(); len(entries) > 0 {
		f.take(entries)
	}
}

// watchFor watches the folders in which the record may come into being. A folder may come
// into being just before its parent is watched, so watchFor looks again until it finds no
// more.
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

// begin makes the Follower read a file from its beginning.
func (f *Follower) begin(path string) {
	f.at.Store(&path)
	f.path, f.offset, f.rest, f.skips, f.decoder = path, 0, nil, false, f.source.New()
}

// read returns the entries of what was written since the last read.
func (f *Follower) read() []Entry {
	file, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would block
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() < f.offset { // it was written anew
		f.begin(f.path)
	}
	var out []Entry
	buf := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buf, f.offset)
		f.offset += int64(n)
		out = append(out, f.decode(buf[:n])...)
		if err == io.EOF || n == 0 {
			return out
		}
	}
}

// decode returns the entries of all lines that end in p.
func (f *Follower) decode(p []byte) []Entry {
	var out []Entry
	for {
		line, after, whole := bytes.Cut(p, []byte("\n"))
		if !whole {
			if f.rest = append(f.rest, line...); len(f.rest) > mostLine {
				f.rest, f.skips = nil, true
			}
			return out
		}
		if line = append(f.rest, line...); !f.skips && len(line) <= mostLine {
			out = append(out, f.decoder.Decode(line)...)
		}
		f.rest, f.skips, p = nil, false, after
	}
}
