package pty

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Cast is a recording of a terminal.
type Cast struct {
	Cols, Rows int // cells, at the start
	Events     []CastEvent
}

// CastEvent is one thing that happened in a recording.
type CastEvent struct {
	At   time.Duration // since the start
	Kind CastKind
	Data string // output or input as bytes; "COLSxROWS"; a mark's label

	Cols, Rows int // of a resize, in cells
}

// CastKind is what sort of event it is, by asciicast's code.
type CastKind string

// The kinds of event.
const (
	CastOutput CastKind = "o"
	CastInput  CastKind = "i"
	CastResize CastKind = "r"
	CastMark   CastKind = "m"
)

// ReadCast reads a recording. It knows asciicast 2 and 3 by their first line;
// anything else is taken as raw output: one event, at the default size. Events
// of unknown kinds are left out. Errors name the line.
func ReadCast(r io.Reader) (*Cast, error) {
	in := bufio.NewReader(r)
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
	cast := &Cast{Cols: head.Width, Rows: head.Height}
	switch head.Version {
	case 2:
	case 3:
		cast.Cols, cast.Rows = head.Term.Cols, head.Term.Rows
	default:
		return nil, fmt.Errorf("read recording: line 1: asciicast version %d; only 2 and 3 are known", head.Version)
	}
	if cast.Cols <= 0 || cast.Rows <= 0 {
		return nil, errors.New("read recording: line 1: the header gives no terminal size")
	}
	if err := cast.readEvents(in, head.Version == 3); err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return cast, nil
}

// header is the first line of asciicast 2 (width, height) and 3 (term).
type header struct {
	Version int `json:"version"`
	Width   int `json:"width"`
	Height  int `json:"height"`
	Term    struct {
		Cols int `json:"cols"`
		Rows int `json:"rows"`
	} `json:"term"`
}

// castHeader reports whether line is an object with a version.
func castHeader(line []byte) (header, bool) {
	var h header
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &h) != nil {
		return header{}, false
	}
	return h, h.Version > 0
}

// readEvents reads what follows the header; relative times count from the
// event before.
func (c *Cast) readEvents(in *bufio.Reader, relative bool) error {
	var last time.Duration
	for number := 2; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 && line[0] != '#' {
			e, bad := castEvent(line)
			if bad != nil {
				return fmt.Errorf("line %d: %w", number, bad)
			}
			if relative {
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

// maxCastSeconds is 24 days: longer times are mistakes, and far longer ones do
// not fit a time.Duration.
const maxCastSeconds = 1 << 21

func castEvent(line []byte) (CastEvent, error) {
	var fields []json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return CastEvent{}, fmt.Errorf("not a JSON array: %w", err)
	}
	if len(fields) != 3 {
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
	e.At = time.Duration(seconds * float64(time.Second))
	if err := json.Unmarshal(fields[1], &e.Kind); err != nil {
		return CastEvent{}, fmt.Errorf("kind %s is not a string", fields[1])
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
