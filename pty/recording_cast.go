package pty

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Cast is a recording of a terminal: its size and its events.
type Cast struct {
	Cols, Rows int // size in cells at the start of the recording
	Events     []CastEvent
}

// CastEvent is one event of a recording.
type CastEvent struct {
	At   time.Duration // time since the start of the recording
	Kind CastKind
	Data string // output or input; COLSxROWS for a resize; the label of a mark

	Cols, Rows int // new size in cells, for a resize
}

// CastKind is the kind of an event. The values are the codes of asciicast.
type CastKind string

// The values of CastKind.
const (
	CastOutput CastKind = "o"
	CastInput  CastKind = "i"
	CastResize CastKind = "r"
	CastMark   CastKind = "m"
)

// ReadCast reads a recording. It recognizes asciicast 2 and 3 by the first line. It reads anything
// else as raw output, which becomes one event of a recording with the default size. It ignores a
// byte order mark at the beginning.
//
// In an asciicast, ReadCast accepts CR LF, and ignores blank lines and comments (#). It also
// ignores events whose kind has no constant in this package. An error names the line.
func ReadCast(r io.Reader) (*Cast, error) {
	in := bufio.NewReader(r)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark))
	}
	first, err := in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	head, ok := castHeader(first)
	if !ok {
		rest, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read recording: %w", err)
		}
		event := CastEvent{Kind: CastOutput, Data: string(append(first, rest...))}
		return &Cast{Cols: DefaultCols, Rows: DefaultRows, Events: []CastEvent{event}}, nil
	}
	cast := &Cast{Cols: int(head.Width), Rows: int(head.Height)}
	switch head.Version {
	case 2:
	case 3:
		cast.Cols, cast.Rows = int(head.Term.Cols), int(head.Term.Rows)
	default:
		return nil, fmt.Errorf("read recording: line 1: asciicast version %v; only 2 and 3 are known", head.Version)
	}
	if cast.Cols <= 0 || cast.Rows <= 0 {
		return nil, errors.New("read recording: line 1: the header gives no terminal size")
	}
	if err := cast.readEvents(in, head.Version == 3); err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return cast, nil
}

const byteOrderMark = "\ufeff"

// header is the first line of an asciicast. Version 2 has the fields "width" and "height", and
// version 3 the field "term". Some recorders write whole numbers with a decimal point, such as
// 80.0.
type header struct {
	Version float64   `json:"version"`
	Width   castCells `json:"width"`
	Height  castCells `json:"height"`
	Term    castTerm  `json:"term"`
}

type castTerm struct {
	Cols castCells `json:"cols"`
	Rows castCells `json:"rows"`
}

// UnmarshalJSON leaves t empty if raw is not an object, as in some recordings of version 2.
func (t *castTerm) UnmarshalJSON(raw []byte) error {
	type plain castTerm
	var p plain
	if json.Unmarshal(raw, &p) == nil {
		*t = castTerm(p)
	}
	return nil
}

// castCells is a number of cells. It is 0 if the recording contains no valid number.
type castCells int

// UnmarshalJSON sets n if raw is a valid number of cells. It ignores any other value,
// and never returns an error.
func (n *castCells) UnmarshalJSON(raw []byte) error {
	var f float64
	if json.Unmarshal(raw, &f) == nil && f >= 1 && f <= math.MaxInt32 {
		*n = castCells(f)
	}
	return nil
}

// castHeader reads a line as the header of an asciicast. It returns false if the line is not an
// object with a version.
func castHeader(line []byte) (header, bool) {
	var h header
	if json.Unmarshal(line, &h) != nil {
		return header{}, false
	}
	return h, h.Version > 0
}

// readEvents reads the lines after the header. If isRelative is true, the time of an event counts
// from the previous event, and otherwise from the start of the recording.
func (c *Cast) readEvents(in *bufio.Reader, isRelative bool) error {
	var last time.Duration
	for number := 2; ; number++ {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			e, bad := castEvent(line)
			if bad != nil {
				return fmt.Errorf("line %d: %w", number, bad)
			}
			if isRelative {
				e.At += last
			}
			last = e.At
			switch e.Kind {
			case CastOutput, CastInput, CastResize, CastMark:
				c.Events = append(c.Events, e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// maxCastSeconds is the largest time of an event, about 24 days. A larger time is a mistake, and a
// much larger time does not fit into a time.Duration.
const maxCastSeconds = 1 << 21

// CastTime converts a number of seconds in a recording to a duration, rounded to
// nanoseconds.
func CastTime(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

func castEvent(line []byte) (CastEvent, error) {
	var fields []json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return CastEvent{}, fmt.Errorf("not a JSON array: %w", err)
	}
	if len(fields) < 3 {
		return CastEvent{}, fmt.Errorf("%d fields instead of time, kind, data", len(fields))
	}
	var seconds float64
	var e CastEvent
	if err := json.Unmarshal(fields[0], &seconds); err != nil {
		return CastEvent{}, fmt.Errorf("time %s is not a number", fields[0])
	}
	if seconds < 0 || seconds > maxCastSeconds {
		return CastEvent{}, fmt.Errorf("time %s is not between 0 and %d s", fields[0], maxCastSeconds)
	}
	e.At = CastTime(seconds)
	if err := json.Unmarshal(fields[1], &e.Kind); err != nil {
		return CastEvent{}, fmt.Errorf("kind %s is not a string", fields[1])
	}
	switch e.Kind {
	case CastOutput, CastInput, CastResize, CastMark:
	default:
		return e, nil // readEvents drops this event, so its data is not needed
	}
	if err := json.Unmarshal(fields[2], &e.Data); err != nil {
		return CastEvent{}, fmt.Errorf("data of a %q event is not a string", e.Kind)
	}
	if e.Kind == CastResize {
		cols, rows, _ := strings.Cut(e.Data, "x")
		var bad1, bad2 error
		e.Cols, bad1 = strconv.Atoi(cols)
		e.Rows, bad2 = strconv.Atoi(rows)
		if bad1 != nil || bad2 != nil || e.Cols <= 0 || e.Rows <= 0 {
			return CastEvent{}, fmt.Errorf("resize to %q is not COLSxROWS", e.Data)
		}
	}
	return e, nil
}
