package record

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"syscall"
)

// mostLine is the largest size of a line in bytes. A longer line is skipped: it contains a picture or
// the output of a tool, but never the end of a turn.
const mostLine = 4 << 20

// remembered is how many of the last bytes a Tail compares. If they differ, the file is another one.
const remembered = 256

// lines is the Tail for a record that is a file of lines.
type lines struct {
	path    string
	start   func() Decoder
	decoder Decoder
	offset  int64
	last    []byte // the last bytes before the offset, at most `remembered`
	rest    []byte // beginning of a line whose end has not been written yet
	skips   bool   // the line that is being read is too long, so it is skipped
}

// Lines returns a function for Source.Open that reads records which are files of lines. start must
// return a new Decoder.
func Lines(start func() Decoder) func(path string, w Where) Tail {
	return func(path string, _ Where) Tail { return &lines{path: path, start: start, decoder: start()} }
}

func (l *lines) Close() {}

// Next returns the entries of the lines that have been completed since the last call of
// Next.
func (l *lines) Next() []Entry {
	if info, err := os.Stat(l.path); err != nil || info.Size() == l.offset {
		return nil
	}
	file, err := os.OpenFile(l.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: opening a FIFO must not block
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() < l.offset || !l.continues(file) { // the file was written again from its beginning
		l.offset, l.last, l.rest, l.skips, l.decoder = 0, nil, nil, false, l.start()
	}
	var out []Entry
	buf := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buf, l.offset)
		l.offset += int64(n)
		l.last = append(l.last, buf[max(0, n-remembered):n]...)
		l.last = append([]byte(nil), l.last[max(0, len(l.last)-remembered):]...)
		out = append(out, l.decode(buf[:n], l.offset-int64(n))...)
		if err == io.EOF || n == 0 {
			return out
		}
	}
}

// continues reports whether the file still has the bytes before the offset. Otherwise the agent CLI has replaced it by
// another one.
func (l *lines) continues(file *os.File) bool {
	now := make([]byte, len(l.last))
	n, err := file.ReadAt(now, l.offset-int64(len(now)))
	return n < len(now) && err != io.EOF || bytes.Equal(now[:n], l.last)
}

// decode returns the entries of all lines that end in p. The bytes p begin at the given offset of
// the file. If the last line is incomplete, decode keeps its beginning for the next call.
func (l *lines) decode(p []byte, offset int64) []Entry {
	var out []Entry
	for {
		line, after, whole := bytes.Cut(p, []byte("\n"))
		if !whole {
			if l.rest = append(l.rest, line...); len(l.rest) > mostLine {
				l.rest, l.skips = nil, true
			}
			return out
		}
		offset += int64(len(line)) + 1
		if line = append(l.rest, line...); !l.skips && len(line) <= mostLine {
			for i, e := range l.decoder.Decode(line) {
				e.Position = offset
				if e.Key == "" {
					e.Key = strconv.Itoa(i)
				}
				out = append(out, e)
			}
		}
		l.rest, l.skips, p = nil, false, after
	}
}
