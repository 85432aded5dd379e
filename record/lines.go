package record

import (
	"bytes"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strconv"

	"coleo.dev/wholefile"
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

	sum    maphash.Hash // of everything that was read
	ends   []lineEnd    // the ends of the newest lines
	passed int64        // the offset up to which all entries were returned before the file was cut
	cut    int64        // how many bytes of lines the agent CLI has cut off; it is added to each Position
}

// lineEnd is the end of a line, with the sum of the file up to there.
type lineEnd struct {
	offset int64
	sum    uint64
}

// mostEnds is the largest number of lines that an agent CLI can cut off without making Coleo read the file as a new
// one. Claude Code cuts off a few lines, the parts of one reply.
const mostEnds = 256

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
	file, err := wholefile.OpenRegular(l.path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	if info.Size() < l.offset || !l.continues(file) {
		l.restart(file)
	}
	var out []Entry
	_ = eachChunk(file, l.offset, func(p []byte) { // after an error, the next call reads the rest
		l.offset += int64(len(p))
		l.last = append(l.last, p[max(0, len(p)-remembered):]...)
		l.last = slices.Clone(l.last[max(0, len(l.last)-remembered):])
		out = append(out, l.decode(p, l.offset-int64(len(p)))...)
	})
	return out
}

// eachChunk reads a file from the given offset to its end.
func eachChunk(file *os.File, offset int64, take func(p []byte)) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buf, offset)
		offset += int64(n)
		take(buf[:n])
		if err == io.EOF || n == 0 {
			return err
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

// restart makes l read the file from its beginning, because the agent CLI has changed what was read. If the agent CLI
// has only cut off the newest lines, the Decoder gets the other lines again, but their entries are not returned again.
func (l *lines) restart(file *os.File) {
	known := map[lineEnd]bool{}
	for _, e := range l.ends {
		known[e] = true
	}
	read := int64(0) // the end of the newest line that was read
	if n := len(l.ends); n > 0 {
		read = l.ends[n-1].offset
	}
	l.sum.Reset()
	at, same := int64(0), int64(0)
	_ = eachChunk(file, 0, func(p []byte) { // after an error, fewer lines count as known
		for line := range bytes.Lines(p) {
			_, _ = l.sum.Write(line)
			if at += int64(len(line)); known[lineEnd{at, l.sum.Sum64()}] {
				same = at
			}
		}
	})
	if l.passed = same; same > 0 {
		l.cut += read - same
	}
	l.sum.Reset()
	l.offset, l.last, l.rest, l.skips, l.decoder, l.ends = 0, nil, nil, false, l.start(), nil
}

// decode returns the entries of all lines that end in p. The bytes p begin at the given offset of
// the file. If the last line is incomplete, decode keeps its beginning for the next call.
func (l *lines) decode(p []byte, offset int64) []Entry {
	var out []Entry
	for {
		line, after, whole := bytes.Cut(p, []byte("\n"))
		_, _ = l.sum.Write(p[:len(p)-len(after)])
		if !whole {
			if l.rest = append(l.rest, line...); len(l.rest) > mostLine {
				l.rest, l.skips = nil, true
			}
			return out
		}
		offset += int64(len(line)) + 1
		l.ends = append(l.ends[max(0, len(l.ends)+1-mostEnds):], lineEnd{offset, l.sum.Sum64()})
		if line = append(l.rest, line...); !l.skips && len(line) <= mostLine {
			for i, e := range l.decoder.Decode(line) {
				if offset <= l.passed {
					continue
				}
				e.Position = offset + l.cut
				if e.Key == "" {
					e.Key = strconv.Itoa(i)
				}
				out = append(out, e)
			}
		}
		l.rest, l.skips, p = nil, false, after
	}
}
