package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"coleo.dev/holder/tty"
)

// CastEdit describes what WriteCast adds to the output in the journal, and what WriteCast hides.
type CastEdit struct {
	Marks []CastMark // markers, ordered by time
	Typed bool       // add an input event without data for each time when keys were typed
	Hide  []string   // paths to replace by Cover; the part of a path that wraps to the next row is not found
}

// CastMark is a marker: a time with a label.
type CastMark struct {
	Time  time.Time
	Label string
}

// WriteCast writes the journal in dir to out in the format of Cast. It returns the time at which
// the journal begins. The times in the cast come from the index, and are exact to 50 ms. The
// journal does not contain typed keys, so the cast contains none either. If edit.Hide is set,
// WriteCast holds the whole journal in memory. WriteCast returns an error if it cannot read the
// journal or cannot write to out.
func WriteCast(out io.Writer, dir string, edit CastEdit) (time.Time, error) {
	marks, err := Marks(dir)
	if err != nil {
		return time.Time{}, err
	}
	begin, end, err := Span(dir)
	if err != nil {
		return time.Time{}, err
	}
	cols, rows, start := tty.DefaultCols, tty.DefaultRows, time.Time{}
	for len(marks) > 0 && marks[0].Offset <= begin && marks[0].Kind == MarkResize {
		cols, rows, start = marks[0].Cols, marks[0].Rows, marks[0].Time
		marks = marks[1:]
	}
	if start.IsZero() && len(marks) > 0 {
		start = marks[0].Time
	}
	r := NewReader(dir, begin)
	defer r.Close()
	c := NewCast(out, cols, rows, start)
	return start, c.journal(masked(r, end, edit.Hide), end, marks, edit)
}

// journal writes three things to the cast: the output of r up to the given offset, the marks, and
// the events that the given function adds.
func (c *Cast) journal(r source, end int64, marks []Mark, edit CastEdit) error {
	now, markers := c.now, edit.Marks
	for _, m := range marks {
		c.copy(r, m.Offset, now)
		for len(markers) > 0 && !markers[0].Time.After(m.Time) {
			c.label(markers[0])
			markers = markers[1:]
		}
		now = m.Time
		if m.Kind == MarkResize {
			c.Resize(now, m.Cols, m.Rows)
		}
		if m.Kind == MarkInput && edit.Typed {
			c.now = now
			c.line([]any{c.seconds(), "i", ""})
		}
	}
	c.copy(r, end, now)
	c.now = now
	for _, m := range markers {
		c.label(m)
	}
	return c.Close()
}

type castHeader struct {
	Version   int   `json:"version"`
	Width     int   `json:"width"`
	Height    int   `json:"height"`
	Timestamp int64 `json:"timestamp"`
}

// Cast writes an asciicast of version 2, which is text. Bytes that are not UTF-8 become
// U+FFFD. A character is never split between two events. After an error, the methods do
// nothing, and Close returns that error.
type Cast struct {
	out        *bufio.Writer
	start, now time.Time
	rest       []byte // first bytes of an incomplete character
	err        error
}

// NewCast begins a cast at the given time. The terminal of the cast has cols by rows cells. If cols
// or rows is not positive, NewCast uses DefaultCols and DefaultRows of package tty.
func NewCast(out io.Writer, cols, rows int, start time.Time) *Cast {
	if cols <= 0 || rows <= 0 {
		cols, rows = tty.DefaultCols, tty.DefaultRows
	}
	c := &Cast{out: bufio.NewWriter(out), start: start, now: start}
	c.line(castHeader{Version: 2, Width: cols, Height: rows, Timestamp: start.Unix()})
	return c
}

// Output adds data as output that arrived from the program at the given time. It copies data.
func (c *Cast) Output(at time.Time, data []byte) {
	c.now = at
	p := append(c.rest, data...)
	whole := len(p) - cutCharacter(p)
	c.event("o", string(p[:whole]))
	c.rest = append([]byte(nil), p[whole:]...)
}

// Resize adds a resize at the given time. The new size is cols by rows cells.
func (c *Cast) Resize(at time.Time, cols, rows int) {
	c.now = at
	c.event("r", fmt.Sprintf("%dx%d", cols, rows))
}

// label adds a marker.
func (c *Cast) label(m CastMark) {
	c.now = m.Time
	c.event("m", m.Label)
}

// Err returns the first error, or nil if there was none.
func (c *Cast) Err() error { return c.err }

// Close writes what is left in the buffers. It returns the first error of the cast. It
// does not close the writer that was passed to NewCast.
func (c *Cast) Close() error {
	c.event("o", string(c.rest))
	c.rest = nil
	return errors.Join(c.err, c.out.Flush())
}

// castBuffer is the number of bytes of output in one read.
const castBuffer = 16 << 10

// copy writes the output of r up to a given offset. The cast shows all of this output at the given
// time.
func (c *Cast) copy(r source, endOffset int64, now time.Time) {
	buf := make([]byte, castBuffer)
	for c.err == nil && r.Offset() < endOffset {
		n, err := r.Read(buf[:min(int64(len(buf)), endOffset-r.Offset())])
		if err != nil {
			c.err = fmt.Errorf("write a cast: %w", err)
			return
		}
		c.Output(now, buf[:n])
	}
}

// cutCharacter returns how many bytes at the end of p belong to an incomplete character. If p does
// not end with an incomplete character, cutCharacter returns 0.
func cutCharacter(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if last := p[len(p)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return n
			}
			return 0
		}
	}
	return 0
}

func (c *Cast) event(kind, data string) {
	if data != "" {
		c.line([]any{c.seconds(), kind, data})
	}
}

func (c *Cast) seconds() float64 { return max(0, c.now.Sub(c.start).Seconds()) }

func (c *Cast) line(v any) {
	if c.err != nil {
		return
	}
	raw, err := json.Marshal(v)
	if err == nil {
		_, err = c.out.Write(append(raw, '\n'))
	}
	if err != nil {
		c.err = fmt.Errorf("write a cast: %w", err)
	}
}
