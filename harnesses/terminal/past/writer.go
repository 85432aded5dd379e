package past

import (
	"sync"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
)

// lastBytes is the smallest amount of new output for which a session that is being closed takes another
// snapshot. The emulator reads about 200 MB/s, so the next host agent reads a smaller amount again in 1 or 2
// ms. To save so little time is not worth a write to the disk.
const lastBytes = 256 << 10

// Writer writes snapshots of a session's screen, one at a time. It is safe for
// concurrent use.
type Writer struct {
	folder      Folder
	journal     string             // the journal's folder
	noteCovered func(offset int64) // tells the holder that a snapshot replaces the output before `offset`
	writing     sync.WaitGroup

	mu      sync.Mutex
	newest  int64 // offset of the newest snapshot
	busy    bool  // a snapshot is being written
	stopped bool
}

// NewWriter returns a Writer for a handle's generation. The Writer calls the function `covered` with the
// offset of each snapshot that has reached the disk.
func NewWriter(h coleo.Handle, covered func(offset int64)) *Writer {
	return &Writer{folder: FolderOf(h), journal: holder.JournalDir(h.Dir), noteCovered: covered}
}

// StartFrom sets the offset of the output at which the session begins. The Writer takes no snapshot
// at or before this offset.
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

// Capture writes a snapshot if a segment of the journal ends at the given offset. Such an end may be in
// the middle of a picture or an escape sequence. Capture calls the function `take` before it returns,
// and writes the snapshot in the background. It skips the snapshot if an earlier one is still being
// written.
func (w *Writer) Capture(end int64, take func() *reading.Snapshot) {
	if end%journal.SegmentSize != 0 || !w.claim(end) {
		return
	}
	data, err := w.encode(take())
	w.writing.Go(func() {
		defer w.free()
		if err == nil {
			w.writeSnapshot(end, data)
		}
	})
}

// claim reserves the Writer for one snapshot at the given offset. If it returns true, the caller
// must call free after the snapshot was written. It returns false if the Writer cannot write a
// snapshot now.
func (w *Writer) claim(offset int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if offset <= w.newest || w.stopped || w.busy {
		return false
	}
	w.newest, w.busy = offset, true
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

// writeSnapshot writes a snapshot, and tells the holder that the snapshot replaces the output before
// the given offset. It then deletes the snapshots that are no longer needed. It ignores an error of the
// disk: the holder then keeps its journal, and the holder reports that the disk is full.
func (w *Writer) writeSnapshot(offset int64, data []byte) {
	if w.folder.write(offset, data) != nil {
		return
	}
	w.noteCovered(offset)
	if start, _, err := journal.Span(w.journal); err == nil {
		w.folder.prune(start)
	}
	w.folder.thin(offset)
}

// Wait waits until no snapshot is being written.
func (w *Writer) Wait() { w.writing.Wait() }

// Stop prevents further snapshots by Capture, and waits until no snapshot is being written.
func (w *Writer) Stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.writing.Wait()
}

// Last takes a last snapshot, so that the next host agent has little output to read again. It calls
// the function `take` before it returns. The returned function writes the snapshot to the disk. It is
// nil if less than lastBytes of output came since the newest snapshot, or if the encoding fails.
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
	return func() { w.writeSnapshot(end, data) }
}
