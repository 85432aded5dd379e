package record

import (
	"bytes"
	"io"
	"os"
	"syscall"
)

// mostLine bounds a line of a record, in bytes. A longer one is skipped: it holds a picture
// or the output of a tool, and no end of a turn.
const mostLine = 4 << 20

// lines is the Tail of a file of lines.
type lines struct {
	path    string
	start   func() Decoder
	decoder Decoder
	offset  int64
	rest    []byte // the beginning of a line whose end is not written yet
	skips   bool   // the rest of a line that is too long
}

// Lines returns the Open of a Source whose records are files of lines. start returns a new
// Decoder.
func Lines(start func() Decoder) func(path string, w Where) Tail {
	return func(path string, _ Where) Tail { return &lines{path: path, start: start, decoder: start()} }
}

func (l *lines) Close() {}

// Next returns the entries of all lines that were finished since the last call.
func (l *lines) Next() []Entry {
	file, err := os.OpenFile(l.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would block
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() < l.offset { // it was written anew
		l.offset, l.rest, l.skips, l.decoder = 0, nil, false, l.start()
	}
	var out []Entry
	buf := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buf, l.offset)
		l.offset += int64(n)
		out = append(out, l.decode(buf[:n])...)
		if err == io.EOF || n == 0 {
			return out
		}
	}
}

// decode returns the entries of all lines that end in p.
func (l *lines) decode(p []byte) []Entry {
	var out []Entry
	for {
		line, after, whole := bytes.Cut(p, []byte("\n"))
		if !whole {
			if l.rest = append(l.rest, line...); len(l.rest) > mostLine {
				l.rest, l.skips = nil, true
			}
			return out
		}
		if line = append(l.rest, line...); !l.skips && len(line) <= mostLine {
			out = append(out, l.decoder.Decode(line)...)
		}
		l.rest, l.skips, p = nil, false, after
	}
}
