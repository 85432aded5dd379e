package holder

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// WriteCast writes the journal in dir as an asciicast of version 2: output and
// resizes, with the times of the index, which are right to 50 ms. Typed keys
// are not in the journal, so not in the cast. A cast is text: a byte that is no
// part of a character comes as U+FFFD, and a character is never cut in two.
func WriteCast(out io.Writer, dir string) error {
	marks, err := Marks(dir)
	if err != nil {
		return err
	}
	begin, end, err := Span(dir)
	if err != nil {
		return err
	}
	c := &castWriter{out: bufio.NewWriter(out), cols: defaultCols, rows: defaultRows}
	for len(marks) > 0 && marks[0].Offset <= begin && marks[0].Kind == MarkResize {
		c.cols, c.rows, c.start = marks[0].Cols, marks[0].Rows, marks[0].Time
		marks = marks[1:]
	}
	if c.start.IsZero() && len(marks) > 0 {
		c.start = marks[0].Time
	}
	r := NewReader(dir, begin)
	defer r.Close()
	c.line(castHeader{Version: 2, Width: c.cols, Height: c.rows, Timestamp: c.start.Unix()})
	c.now = c.start
	for _, m := range marks {
		c.copy(r, m.Offset)
		c.now = m.Time
		if m.Kind == MarkResize {
			c.event("r", fmt.Sprintf("%dx%d", m.Cols, m.Rows))
		}
	}
	c.copy(r, end)
	c.event("o", string(c.rest))
	return errors.Join(c.err, c.out.Flush())
}

type castHeader struct {
	Version   int   `json:"version"`
	Width     int   `json:"width"`
	Height    int   `json:"height"`
	Timestamp int64 `json:"timestamp"`
}

// castWriter writes the lines of a cast. After an error it does nothing.
type castWriter struct {
	out        *bufio.Writer
	cols, rows int
	start, now time.Time
	rest       []byte // the beginning of a character
	err        error
}

// copy writes the output up to an offset, as of now.
func (c *castWriter) copy(r *Reader, until int64) {
	buf := make([]byte, streamChunk)
	for c.err == nil && r.Offset() < until {
		n, err := r.Read(buf[:min(int64(len(buf)), until-r.Offset())])
		if err != nil {
			c.err = fmt.Errorf("write a cast: %w", err)
			return
		}
		p := append(c.rest, buf[:n]...)
		whole := len(p) - cutCharacter(p)
		c.event("o", string(p[:whole]))
		c.rest = append([]byte(nil), p[whole:]...)
	}
}

// cutCharacter returns how many bytes at the end are the beginning of a
// character.
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

func (c *castWriter) event(kind, data string) {
	if data != "" {
		c.line([]any{max(0, c.now.Sub(c.start).Seconds()), kind, data})
	}
}

func (c *castWriter) line(v any) {
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
