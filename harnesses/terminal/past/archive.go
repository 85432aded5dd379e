package past

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
	"coleo.dev/pty"
)

// These constants limit one piece of a recording. They keep the JSON of a piece below 1 MiB, the largest
// message on the bus.
const (
	pieceBytes  = 128 << 10
	pieceEvents = 2000
)

// archive is the recorded terminal of one generation, which is one start of an arm. It consists of a
// journal, an index and snapshots.
type archive struct {
	folder     Folder
	dir        string // the folder of the journal
	index      *journal.Index
	start, end int64
}

func openArchive(h coleo.Handle) (*archive, error) {
	a := &archive{folder: FolderOf(h), dir: holder.JournalDir(h.Dir)}
	var err error
	if a.start, a.end, err = journal.Span(a.dir); err != nil {
		return nil, fmt.Errorf("open the recording of arm %s: %w", h.Arm, err)
	}
	if a.index, err = journal.OpenIndex(a.dir); err != nil {
		return nil, fmt.Errorf("open the recording of arm %s: %w", h.Arm, err)
	}
	return a, nil
}

func (a *archive) close() { _ = a.index.Close() }

// ScreenAt returns the terminal of a handle's generation at a moment, with a precision of 50 ms. The terminal
// includes the rows that had scrolled off the screen. The error is EInvalid if the moment is in the future,
// or before the oldest screen that is kept.
func ScreenAt(handle coleo.Handle, at time.Time) (*pty.Core, error) {
	return screenAt(handle, at, (*archive).endAt)
}

// ScreenBeforeTyping is like ScreenAt, but leaves out all output after the first key that was typed at the
// given moment or later. It is needed because the stored times of output are less precise than the times of
// keys. The terminal can include the immediate echo of that key.
func ScreenBeforeTyping(handle coleo.Handle, at time.Time) (*pty.Core, error) {
	return screenAt(handle, at, (*archive).endBeforeTyping)
}

// LastKey returns the time of the last key, if that key was typed at the given moment or later. It returns
// the zero time if no key was typed since that moment, or if the archive cannot be read.
func LastKey(handle coleo.Handle, at time.Time) (last time.Time) {
	a, err := openArchive(handle)
	if err != nil {
		return last
	}
	defer a.close()
	for m := range a.marksFrom(at) {
		if m.Kind == journal.MarkInput {
			last = m.Time
		}
	}
	return last
}

// marksFrom yields the marks of the given moment and all later marks. A mark records the time of a
// piece of output, of a key or of a resize. marksFrom also yields the earlier marks of the same
// millisecond, because the times in the index are truncated to milliseconds.
func (a *archive) marksFrom(at time.Time) iter.Seq[journal.Mark] {
	at = at.Truncate(time.Millisecond)
	return a.index.From(a.index.Find(func(m journal.Mark) bool { return !m.Time.Before(at) }))
}

func screenAt(handle coleo.Handle, at time.Time, endAt func(a *archive, at time.Time) (int64, int)) (*pty.Core, error) {
	a, err := openArchive(handle)
	if err != nil {
		return nil, err
	}
	defer a.close()
	if now := time.Now(); at.After(now) {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is in the future", moment(at))
	}
	oldest, ok := a.oldestTime()
	if !ok || at.Before(oldest) {
		return nil, tooOld(at, oldest, ok)
	}
	until, last := endAt(a, at)
	snapshot := a.folder.Newest(a.start, until)
	var screen *pty.Core
	from := a.start
	if snapshot != nil {
		screen, from = snapshot.Core(), snapshot.Offset
	}
	return a.play(screen, from, until, last)
}

// endAt returns the offset at which the output ended at a given time. It also returns how many marks of
// the index are not later than that time.
func (a *archive) endAt(at time.Time) (offset int64, marks int) {
	marks = a.index.Find(func(m journal.Mark) bool { return m.Time.After(at) })
	for m := range a.index.From(marks) {
		if m.Kind == journal.MarkOutput {
			return max(m.Offset, a.start), marks
		}
	}
	return a.end, marks
}

// endBeforeTyping is like endAt, but leaves out the output after the first key that was typed at that time or
// later.
func (a *archive) endBeforeTyping(at time.Time) (offset int64, marks int) {
	offset, marks = a.endAt(at)
	for m := range a.marksFrom(at) {
		if m.Kind == journal.MarkInput {
			return max(min(offset, m.Offset), a.start), marks
		}
	}
	return offset, marks
}

// oldestTime returns the time of the oldest screen that can be shown, or false if there is none.
func (a *archive) oldestTime() (time.Time, bool) {
	if a.start == 0 {
		for m := range a.index.From(0) {
			return m.Time, true
		}
		return time.Time{}, false
	}
	snapshot := a.folder.oldestFrom(a.start)
	if snapshot == nil {
		return time.Time{}, false
	}
	for m := range a.index.From(a.index.Find(func(m journal.Mark) bool { return m.Offset >= snapshot.Offset })) {
		if m.Kind == journal.MarkOutput {
			return m.Time, true
		}
	}
	return snapshot.Time.Truncate(time.Millisecond), true // the index contains no later output
}

func tooOld(at, oldest time.Time, kept bool) error {
	if !kept {
		return coleo.Errorf(coleo.EInvalid,
			"no screen of %s can be shown: the output is deleted, and no snapshot of the screen is left", moment(at))
	}
	return coleo.Errorf(coleo.EInvalid, "no screen of %s "+
		"is kept: the oldest kept screen is from %s", moment(at), moment(oldest))
}

// moment formats a time so that people can read it and can pass it to Coleo.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z") }

// play feeds a screen with the journal's bytes between two offsets, and applies the resizes between them. It
// uses only the first markCount marks of the index. If screen is nil, play begins with a new screen.
func (a *archive) play(screen *pty.Core, from, until int64, markCount int) (*pty.Core, error) {
	output := journal.NewReader(a.dir, from)
	defer output.Close()
	first := 0
	if screen == nil {
		screen = pty.New(pty.DefaultCols, pty.DefaultRows)
	} else {
		first = a.index.Find(func(m journal.Mark) bool { return m.Offset >= from })
	}
	buf := make([]byte, readChunk)
	for m := range a.index.From(first) {
		if first++; first > markCount {
			break
		}
		if m.Kind != journal.MarkResize {
			continue
		}
		if err := feedUntil(screen, output, min(m.Offset, until), buf); err != nil {
			return nil, err
		}
		screen.Resize(m.Cols, m.Rows)
	}
	return screen, feedUntil(screen, output, until, buf)
}

// feedUntil writes the journal to a screen, and stops at the given offset.
func feedUntil(screen *pty.Core, output *journal.Reader, endOffset int64, buf []byte) error {
	for output.Offset() < endOffset {
		n, err := output.Read(buf[:min(int64(len(buf)), endOffset-output.Offset())])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, _ = screen.Write(buf[:n])
		screen.Replies()
		screen.Notices()
	}
	return nil
}

// Record returns the piece of a recording that begins at an offset in bytes. If the output at this offset was
// deleted, the piece begins later, and its first event paints the oldest snapshot. The error is EInvalid if
// the offset is after the end of the output.
func Record(handle coleo.Handle, from int64) (coleo.Recording, error) {
	a, err := openArchive(handle)
	if err != nil {
		return coleo.Recording{}, err
	}
	defer a.close()
	out := coleo.Recording{Offset: from, Next: from, Until: a.end, Events: []coleo.RecordedEvent{}}
	first := a.index.Find(func(m journal.Mark) bool { return m.Offset >= from })
	switch {
	case from < a.start:
		if first, err = a.paint(&out); err != nil || len(out.Events) > 0 && len(out.Events[0].Data) > pieceBytes {
			return out, err // if there is no error, the oldest screen alone fills the piece
		}
	case from == 0:
		for m := range a.index.From(0) {
			if m.Offset > 0 || m.Kind != journal.MarkResize {
				break
			}
			out.Cols, out.Rows = m.Cols, m.Rows
			first++
		}
	case from > a.end:
		return out, coleo.Errorf(coleo.EInvalid, "the output ends at offset %d", a.end)
	}
	return out, a.collect(&out, first)
}

// paint begins a piece with the oldest screen that is kept, or with the output itself if there is no
// snapshot. It returns the number of the first mark after that screen.
func (a *archive) paint(out *coleo.Recording) (int, error) {
	out.Offset = a.start
	snapshot := a.folder.oldestFrom(a.start)
	if snapshot != nil {
		if err := a.completeEscape(snapshot); err != nil {
			return 0, err
		}
		out.Offset = snapshot.Offset
	}
	out.Next = out.Offset
	first := a.index.Find(func(m journal.Mark) bool { return m.Offset >= out.Offset })
	if snapshot == nil {
		out.Cols, out.Rows = a.sizeAt(first)
		return first, nil
	}
	out.Cols, out.Rows = snapshot.Core().Size()
	out.Events = append(out.Events, coleo.RecordedEvent{Time: a.timeAt(first), Data: snapshot.Core().Paint()})
	return first, nil
}

// completeEscape handles a snapshot in the middle of an escape sequence or a character. It writes
// the next bytes of output to the snapshot's screen, up to the end of that sequence or character.
func (a *archive) completeEscape(s *reading.Snapshot) error {
	output := journal.NewReader(a.dir, s.Offset)
	defer output.Close()
	one := make([]byte, 1)
	for s.Offset < a.end && !s.Core().Between() {
		if err := feedUntil(s.Core(), output, s.Offset+1, one); err != nil {
			return err
		}
		s.Offset++
	}
	return nil
}

// sizeAt returns the size of the terminal just before a mark. The last resize before the mark sets
// this size.
func (a *archive) sizeAt(mark int) (cols, rows int) {
	n := 0
	for m := range a.index.From(0) {
		if n++; n > mark {
			break
		}
		if m.Kind == journal.MarkResize {
			cols, rows = m.Cols, m.Rows
		}
	}
	return cols, rows
}

// timeAt returns the time of the output before a mark. This is the time of the mark with the number
// mark-1. If `mark` is 0, timeAt returns the time of the first mark.
func (a *archive) timeAt(mark int) time.Time {
	for m := range a.index.From(max(0, mark-1)) {
		return m.Time.UTC()
	}
	return time.Time{}
}

// collect adds output and resizes to the piece `out`. It begins with the output at offset out.Next, and
// with the index's mark number `mark`.
func (a *archive) collect(out *coleo.Recording, mark int) error {
	output := journal.NewReader(a.dir, out.Next)
	defer output.Close()
	until := min(a.end, out.Next+pieceBytes)
	now := a.timeAt(mark)
	for m := range a.index.From(mark) {
		if m.Offset >= until && until < a.end || len(out.Events) >= pieceEvents && m.Offset > out.Next {
			until = min(until, m.Offset)
			break
		}
		if err := addOutput(out, output, min(m.Offset, until), now); err != nil {
			return err
		}
		now = m.Time.UTC()
		if m.Kind == journal.MarkResize {
			out.Events = append(out.Events, coleo.RecordedEvent{Time: now, Cols: m.Cols, Rows: m.Rows})
		}
	}
	return addOutput(out, output, until, now)
}

// addOutput adds the output up to the given offset to a piece.
func addOutput(out *coleo.Recording, output *journal.Reader, endOffset int64, at time.Time) error {
	if out.Next >= endOffset {
		return nil
	}
	data := make([]byte, endOffset-out.Next)
	n, err := io.ReadFull(output, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	out.Next += int64(n)
	out.Events = append(out.Events, coleo.RecordedEvent{Time: at, Data: data[:n]})
	return nil
}
