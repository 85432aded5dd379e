package past

import (
	"sync"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
)

// lastBytes is how many bytes of output since the newest snapshot justify another one when
// a session is closed. A screen takes in some 200 MB/s, so less output than this is
// replayed in 1 or 2 ms. A snapshot takes about as long, and a write to the disk.
const lastBytes = 256 << 10

// Writer writes snapshots of a session's screen, one at a time. It is safe for concurrent
// use.
type Writer struct {
	folder  Folder
	journal string             // the journal's folder
	covered func(offset int64) // tells the holder which output a snapshot makes dispensable
	writing sync.WaitGroup

	mu      sync.Mutex
	newest  int64 // offset of the newest snapshot
	busy    bool  // a snapshot is being written
	stopped bool
}

// NewWriter returns a Writer for a handle's generation. It calls covered with the offset
// of each snapshot that is on the disk.
func NewWriter(h coleo.Handle, covered func(offset int64)) *Writer {
	return &Writer{folder: FolderOf(h), journal: holder.JournalDir(h.Dir), covered: covered}
}

// StartFrom says that the screen was rebuilt from a snapshot at an offset, or that output
// is known from there on.
func (w *Writer) StartFrom(offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = offset
}

// Newest returns the offset of the newest snapshot.
func (w *Writer) Newest() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest
}

// Capture writes a snapshot where a segment of the journal ends, even in the middle of a
// drawing or a sequence. It calls take at once, and writes later. It skips the snapshot
// while the last one is being written.
func (w *Writer) Capture(end int64, take func() *reading.Snapshot) {
	if end%journal.SegmentSize != 0 || !w.claim(end) {
		return
	}
	data, err := w.encode(take())
	w.writing.Go(func() {
		defer w.free()
		if err == nil {
			w.keep(end, data)
		}
	})
}

// claim reports whether a snapshot at an offset may be written now. The caller must then
// call free.
func (w *Writer) claim(end int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end <= w.newest || w.stopped || w.busy {
		return false
	}
	w.newest, w.busy = end, true
	return true
}

func (w *Writer) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = false
}

func (w *Writer) encode(s *reading.Snapshot) ([]byte, error) {
	s.Nonce = w.folder.nonce
	return s.Encode()
}

// keep writes a snapshot, tells the holder which output it makes dispensable, and deletes
// the snapshots of output that the holder deleted. A snapshot that cannot be written
// changes nothing: the holder keeps its journal and reports by itself when the disk is
// full.
func (w *Writer) keep(offset int64, data []byte) {
	if w.folder.write(offset, data) != nil {
		return
	}
	w.covered(offset)
	if start, _, err := journal.Span(w.journal); err == nil {
		w.folder.prune(start)
	}
	w.folder.thin(offset)
}

// Wait waits for the snapshot that is being written.
func (w *Writer) Wait() { w.writing.Wait() }

// Stop makes Capture take no more snapshots, and waits for the one that is being written.
func (w *Writer) Stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.writing.Wait()
}

// Last takes a last snapshot, so that the next host agent has little to replay. It calls
// take before it returns. The returned function writes the snapshot to the disk. It is nil
// if less than lastBytes of output came since the newest snapshot, or if the snapshot
// cannot be encoded.
func (w *Writer) Last(end int64, take func() *reading.Snapshot) (write func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end-w.newest < lastBytes {
		return nil
	}
	w.newest = end
	data, err := w.encode(take())
	if err != nil {
		return nil
	}
	return func() { w.keep(end, data) }
}
