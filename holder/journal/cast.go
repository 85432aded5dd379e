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
	Marks []CastMark // markers in the order of their times
	Typed bool       // if true, an input event without data is added each time that keys were typed
	Hide  []string   // paths that MaskPath replaces; of a path that is split over two rows, only the first row
}

// CastMark is a marker: a time with a label.
type CastMark struct {
	Time  time.Time
	Label string
}

// WriteCast writes the journal in dir to out, in the format of Cast. It returns the time at which
// the journal begins. The times in the cast come from the index, and are exact to 50 ms. The cast
// contains no typed keys, because the journal contains none. If edit.Hide is set, WriteCast holds
// the whole journal in memory. WriteCast returns an error if it cannot read the journal or cannot
// write to out.
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

// journal writes to the cast: the output of r up to the given offset, the resizes among the marks,
// and the events that `edit` adds.
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

// Cast writes an asciicast of version 2, which is text. Bytes that are not UTF-8 become U+FFFD. A
// character is never split between two events. After an error, the methods do nothing, and Close
// returns the error.
type Cast struct {
	out        *bufio.Writer
	start, now time.Time
	rest       []byte // the first bytes of an incomplete character
	err        error
}

// NewCast begins a cast at the given time. The terminal of the cast has cols by rows cells. If one
// of them is not positive, NewCast uses DefaultCols and DefaultRows of package tty.
func NewCast(out io.Writer, cols, rows int, start time.Time) *Cast {
	if cols <= 0 || rows <= 0 {
		cols, rows = tty.DefaultCols, tty.DefaultRows
	}
	c := &Cast{out: bufio.NewWriter(out), start: start, now: start}
	c.line(castHeader{Version: 2, Width: cols, Height: rows, Timestamp: start.Unix()})
	return c
}

// Output adds data as output of the program that arrived at the given time. It copies data.
func (c *Cast) Output(at time.Time, data []byte) {
	c.now = at
	p := append(c.rest, data...)
	whole := len(p) - cutCharacter(p)
	c.event("o", string(p[:whole]))
	c.rest = append([]byte(nil), p[whole:]...)
}

// Resize adds a change of the terminal's size to cols by rows cells, at the given time.
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

// Close writes the rest of the buffers. It returns the first error of the cast. It does not close
// the writer that was passed to NewCast.
func (c *Cast) Close() error {
	c.event("o", string(c.rest))
	c.rest = nil
	return errors.Join(c.err, c.out.Flush())
}

// castBuffer is the largest number of bytes of output in one read and in one event.
const castBuffer = 16 << 10

// copy writes the output of r up to a given offset. All of this output has the given time in the
// cast.
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

// cutCharacter returns how many bytes at the end of p are the beginning of an incomplete character.
// It returns 0 if the last character is complete.
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
