package terminal

import (
	"errors"
	"fmt"
	"io"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
)

// journalChunk is how much of a journal is read at once, in bytes.
const journalChunk = 64 << 10

// rebuild makes the reader with the screen at the journal's end, from the newest readable
// snapshot and the output since. It reads the journal's files itself, which is several
// times as fast as a stream.
func (s *session) rebuild(at holder.Status) replay {
	now := time.Now()
	dir := holder.JournalDir(s.handle.Dir)
	s.keeper.tidy(at.End)
	r := replay{until: at.End, answered: at.Answered}
	shot := s.keeper.newest(at.Start, at.End)
	if shot == nil {
		s.begin(at, at.Start, &r)
	} else {
		cols, rows, here, rest := sizes(resizesFrom(dir, shot.Offset), shot.Offset, at.End)
		s.Reader = reading.New(s.rules(), at.Cols, at.Rows, now, s.changed)
		if s.Resume(shot, now); here {
			s.Core().Resize(cols, rows)
		}
		r.resizes, s.keeper.last = rest, shot.Offset
		s.oweAgain(shot.Replies, at.Answered)
	}
	// The journal may have been trimmed meanwhile, or a file may be unreadable.
	if err := s.catchUp(dir, &r); err != nil {
		if start, _, err := holder.Span(dir); err == nil && start > s.End() {
			s.begin(at, start, &r)
			_ = s.catchUp(dir, &r) // the rest comes over the stream
		}
	}
	return r
}

// begin starts with an empty screen at an offset. If output before that offset is lost,
// begin logs so.
func (s *session) begin(at holder.Status, from int64, r *replay) {
	cols, rows, _, rest := sizes(resizesFrom(holder.JournalDir(s.handle.Dir), 0), from, at.End)
	if cols == 0 {
		cols, rows = at.Cols, at.Rows
	}
	s.Reader = reading.New(s.rules(), cols, rows, time.Now(), s.changed)
	s.StartAt(from)
	r.resizes, s.keeper.last = rest, from
	if from > 0 {
		s.log.Add(coleo.Change{
			Time: time.Now(), Kind: coleo.ChangeLapse, Reading: s.Reading(),
			Note: fmt.Sprintf("no snapshot of the screen can be read, and the output before offset %d is deleted: the screen shows what was drawn since", from),
		})
	}
}

// catchUp feeds the journal on disk, up to its end at the time when the session was
// opened.
func (s *session) catchUp(dir string, r *replay) error {
	journal := holder.NewReader(dir, s.End())
	defer journal.Close()
	buf := make([]byte, journalChunk)
	for s.End() < r.until {
		n, err := journal.Read(buf[:min(int64(len(buf)), r.until-s.End())])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.feed(buf[:n], r)
	}
	return nil
}

// oweAgain queues the answers that an earlier host agent had pending and the holder never
// got.
func (s *session) oweAgain(list []reading.Reply, answered int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range list {
		if o.Offset > answered {
			s.owe(o)
		}
	}
}

// firstLook returns when to look at the screen if no output comes.
func (s *session) firstLook() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.End() == 0 {
		return reading.IdleLook // nothing has been drawn yet
	}
	return 0
}
