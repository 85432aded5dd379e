package terminal

import (
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
)

// rebuild returns a Reader that shows the screen at the end of the journal, the file with the program's
// output. It begins with the newest readable snapshot, and feeds the Reader the output after the snapshot.
// It reads the journal's files itself, because that is several times as fast as a stream from the holder.
func (s *session) rebuild(at holder.Status) (*reading.Reader, *past.Replay) {
	now, folder, dir := time.Now(), past.FolderOf(s.handle), holder.JournalDir(s.handle.Dir)
	folder.Tidy(at.End)
	replay := &past.Replay{Until: at.End, Answered: at.Answered}
	var r *reading.Reader
	if snapshot := folder.Newest(at.Start, at.End); snapshot == nil {
		r = s.beginAt(at, at.Start, replay)
	} else {
		size, exact := replay.From(dir, snapshot.Offset, snapshot.Offset)
		r = reading.New(s.harness.spec, at.Cols, at.Rows, now, s.onChange)
		r.SetVersion(s.facts.Version)
		if r.Resume(snapshot, now); exact {
			r.Resize(size.Cols, size.Rows)
		}
		s.snapshots.StartFrom(snapshot.Offset)
		s.replies.addUnsent(snapshot.Replies, at.Answered)
	}
	// catchUp fails if a file is unreadable, or if the holder has deleted the beginning of the
	// journal meanwhile. In the second case, begin again at the journal's new beginning.
	if err := s.catchUp(r, dir, replay); err != nil {
		if start, _, err := journal.Span(dir); err == nil && start > r.End() {
			r = s.beginAt(at, start, replay)
			// An error is harmless here, because the stream from the holder contains all output that is still missing.
			_ = s.catchUp(r, dir, replay)
		}
	}
	return r, replay
}

// beginAt returns a Reader with an empty screen for the output after an offset. If the offset is
// not 0, the output before it is lost, and beginAt adds a change that reports the loss.
func (s *session) beginAt(at holder.Status, from int64, replay *past.Replay) *reading.Reader {
	size, _ := replay.From(holder.JournalDir(s.handle.Dir), from, 0)
	if size.Cols == 0 {
		size = past.Size{Cols: at.Cols, Rows: at.Rows}
	}
	r := reading.New(s.harness.spec, size.Cols, size.Rows, time.Now(), s.onChange)
	r.SetVersion(s.facts.Version)
	r.StartAt(from)
	s.snapshots.StartFrom(from)
	if from > 0 {
		s.log.Add(coleo.Change{
			Time: time.Now(), Kind: coleo.ChangeLapse, Reading: r.Reading(),
			Note: fmt.Sprintf("no snapshot of the screen can be read, and the output before offset %d is deleted: "+
				"the screen shows what was drawn since", from),
		})
	}
	return r
}

// catchUp feeds the Reader from the journal on disk, up to the end that the journal had when the
// session was opened.
func (s *session) catchUp(r *reading.Reader, dir string, replay *past.Replay) error {
	return replay.Read(dir, r.End(), func(p []byte) {
		now := time.Now()
		for len(p) > 0 {
			n, _ := r.Feed(p[:replay.Next(r.End(), len(p))], now)
			p = p[n:]
			s.onOutput(r, replay, now)
		}
	})
}

// lastSnapshot takes a snapshot when a session is closed, so that the next host agent has little
// output to read again.
func (s *session) lastSnapshot() {
	s.snapshots.Stop()
	if write := s.takeLast(); write != nil {
		write()
	}
}

// takeLast takes the last snapshot. It returns a function that writes the snapshot, or nil if no snapshot is
// needed. While the program has not drawn for a new size, takeLast takes no snapshot, because a snapshot
// lacks the screen from before this size. The next session then rebuilds that screen from the journal.
func (s *session) takeLast() (write func()) {
	r, unlock := s.live.lock()
	defer unlock()
	if r.Reading().State == coleo.Dead || r.AwaitsDrawing() {
		return nil
	}
	return s.snapshots.Last(r.End(), func() *reading.Snapshot { return s.snapshot(r, time.Now()) })
}
