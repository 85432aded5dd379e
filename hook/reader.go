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

// Reader follows a file of reports. One goroutine may call Wait while another goroutine
// calls Lines. But two goroutines must not call Lines at the same time.
type Reader struct {
	path string
	pipe *os.File
	file *os.File
	rest []byte // the start of a line whose end has not arrived yet
	skip bool   // the line that rest belongs to is too long and is left out
}

// Open returns a Reader of the reports in a file. The Reader starts with the oldest
// report that is still kept. If the file's folder is missing, Open creates the folder
// (mode 0700). Open also creates a pipe in this folder. Hook programs write to the pipe
// to wake the Reader.
func Open(path string) (*Reader, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the hook's reports: %w", err)
	}
	if err := syscall.Mkfifo(wakePath(path), 0o600); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make a pipe for the hook: %w", err)
	}
	// Open the pipe for writing too, so that reads never return the end of the pipe.
	pipe, err := os.OpenFile(wakePath(path), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the hook's pipe: %w", err)
	}
	if info, err := pipe.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil, errors.Join(fmt.Errorf("%s is not a pipe", wakePath(path)), err, pipe.Close())
	}
	r := &Reader{path: path, pipe: pipe}
	r.file, _ = os.Open(oldPath(path)) // usually there is no such file
	return r, nil
}

// Wait waits until a new report may have arrived since the last call. Then it returns
// nil. It returns an error after Close.
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
		// Nothing is appended to a file after it was renamed. So read the old file to
		// its end first.
		default:
			info, err := r.file.Stat()
			if moved = err == nil && !isAt(info, r.path); !moved {
				return out
			}
		}
	}
	return out
}

// advance opens the file that is at the reader's path now.
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

// Close closes the reader. A call of Wait then returns.
func (r *Reader) Close() error {
	if r.file != nil {
		_ = r.file.Close()
	}
	return r.pipe.Close()
}
