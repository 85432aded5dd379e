package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Reader follows a file of reports. Lines and Wait may be called at the same time. Only
// one goroutine at a time may call Lines.
type Reader struct {
	path string
	pipe *os.File
	file *os.File
	rest []byte // the start of a line whose end has not arrived yet
	skip bool   // that line is too long and is left out
}

// Open follows the reports in a file, starting with the oldest one that is kept. It
// creates the file's folder (mode 0700) if it is missing, and in it the pipe by which
// hook programs wake the reader.
func Open(path string) (*Reader, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the hook's reports: %w", err)
	}
	if err := syscall.Mkfifo(wakePath(path), 0o600); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make a pipe for the hook: %w", err)
	}
	// The pipe is also opened for writing, so that reads never see its end.
	pipe, err := os.OpenFile(wakePath(path), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the hook's pipe: %w", err)
	}
	if info, err := pipe.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil, errors.Join(fmt.Errorf("%s is not a pipe", wakePath(path)), err, pipe.Close())
	}
	r := &Reader{path: path, pipe: pipe}
	r.file, _ = os.Open(oldPath(path)) // usually there is none
	return r, nil
}

// Wait returns nil when a report may have arrived since the last call. It returns an
// error after Close.
func (r *Reader) Wait() error {
	var b [512]byte
	_, err := r.pipe.Read(b[:])
	return err
}

// Lines returns the reports that arrived since the last call. It leaves out lines that
// are not reports.
func (r *Reader) Lines() []Line {
	var out []Line
	moved := false
	for r.file != nil || r.advance() {
		var b [32 << 10]byte
		n, err := r.file.Read(b[:])
		out = r.take(out, b[:n])
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return out
		case moved && !r.advance():
			return out
		case moved:
			moved = false
		// Nothing is appended to a renamed file. Everything that was appended before is
		// read first.
		default:
			info, err := r.file.Stat()
			if moved = err == nil && !isAt(info, r.path); !moved {
				return out
			}
		}
	}
	return out
}

// advance opens the file that is at the path now.
func (r *Reader) advance() bool {
	next, err := os.Open(r.path)
	if err != nil {
		return false
	}
	if r.file != nil {
		_ = r.file.Close()
	}
	r.file, r.rest, r.skip = next, nil, false
	return true
}

func (r *Reader) take(out []Line, p []byte) []Line {
	for len(p) > 0 {
		head, tail, whole := bytes.Cut(p, []byte{'\n'})
		if r.rest = append(r.rest, head...); len(r.rest) > 2*maxLine {
			r.rest, r.skip = nil, true
		}
		if !whole {
			return out
		}
		var l Line
		if !r.skip && json.Unmarshal(r.rest, &l) == nil && l.Payload != nil {
			out = append(out, l)
		}
		r.rest, r.skip, p = r.rest[:0], false, tail
	}
	return out
}

// Close closes the reader, which ends Wait.
func (r *Reader) Close() error {
	if r.file != nil {
		_ = r.file.Close()
	}
	return r.pipe.Close()
}
