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

// Reader follows a file of reports. One goroutine can call Wait while another goroutine
// calls Lines. Two goroutines must not call Lines at the same time.
type Reader struct {
	path string
	pipe *os.File
	file *os.File
	rest []byte // beginning of a line whose end has not arrived yet
	skip bool   // true while the rest of a line is skipped that is too long or has no beginning
}

// Open returns a Reader of the reports in the file at path. The Reader begins with the oldest
// report in the file or in the full file before it. If the folder of the file is missing, Open
// creates it with mode 0700. In the same folder, Open creates the pipe through which hook programs
// wake the Reader.
func Open(path string) (*Reader, error) {
	if err := makePipe(path); err != nil {
		return nil, err
	}
	// Open the pipe for writing too, because otherwise a read would return io.EOF while no hook
	// program has the pipe open.
	pipe, err := os.OpenFile(wakePath(path), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the hook's pipe: %w", err)
	}
	if info, err := pipe.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil, errors.Join(fmt.Errorf("%s is not a pipe", wakePath(path)), err, pipe.Close())
	}
	r := &Reader{path: path, pipe: pipe}
	r.file, _ = openNoPipe(oldPath(path)) // an error does not matter, because usually there is no older, full file
	return r, nil
}

func makePipe(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the hook's reports: %w", err)
	}
	if err := syscall.Mkfifo(wakePath(path), 0o600); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make a pipe for the hook: %w", err)
	}
	return nil
}

// Make creates the files that a hook program uses, and returns their paths: the file of reports and
// the pipe. Both are below dir, the folder of an arm's generation. In a sandbox, the hook program
// can use these two files but no other file in the folder.
func Make(dir string) ([]string, error) {
	path := Path(dir)
	if err := makePipe(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the file of the hook's reports: %w", err)
	}
	return []string{path, wakePath(path)}, file.Close()
}

// Wait returns nil when new reports may have arrived since the last call of Wait. It returns an
// error after Close.
func (r *Reader) Wait() error {
	var b [512]byte
	_, err := r.pipe.Read(b[:])
	return err
}

// Lines returns the reports that have arrived since the last call of Lines. It skips lines that are
// not reports. If the file grows as fast as Lines reads, Lines returns a part of the reports, and the next
// Wait returns at once.
func (r *Reader) Lines() []Line {
	var out []Line
	moved, size := false, 0
	for r.file != nil || r.advance() {
		r.leaveOutHuge()
		var b [32 << 10]byte
		n, err := r.file.Read(b[:])
		out = r.take(out, b[:n])
		size += n
		switch {
		case err == nil && size > mostUnread: // the file grows while it is read, so the next call continues
			wake(wakePath(r.path))
			return out
		case err == nil:
		case !errors.Is(err, io.EOF):
			return out
		case moved && !r.advance():
			return out
		case moved:
			moved = false
		// If another file is now at the path, read the renamed file to its end before opening the new one.
		// The renamed file does not grow any more, because hook programs append only to the file at the
		// path.
		default:
			info, err := r.file.Stat()
			if err == nil && r.wasEmptied(info.Size()) {
				continue
			}
			if moved = err == nil && !isAt(info, r.path); !moved {
				return out
			}
		}
	}
	return out
}

// advance replaces the open file by the file that is now at the Reader's path. If there is no file
// at this path, advance returns false and changes nothing.
func (r *Reader) advance() bool {
	next, err := openNoPipe(r.path)
	if err != nil {
		return false
	}
	if r.file != nil {
		_ = r.file.Close()
	}
	r.file, r.rest, r.skip = next, nil, false
	return true
}

// openNoPipe opens a file. It refuses a pipe, which a process in the arm can put in the file's place. Opening or
// reading the pipe would wait for a writer.
func openNoPipe(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeNamedPipe != 0 {
		return nil, errors.Join(fmt.Errorf("%s is a pipe", path), err, file.Close())
	}
	return file, nil
}

// wasEmptied reports whether a hook program has emptied the file since the last read. If so, the
// next read begins at the beginning of the file.
func (r *Reader) wasEmptied(size int64) bool {
	at, err := r.file.Seek(0, io.SeekCurrent)
	if err != nil || at <= size {
		return false
	}
	r.rest, r.skip = nil, false
	_, err = r.file.Seek(0, io.SeekStart)
	return err == nil
}

// mostUnread is how many unread bytes Lines reads at most: see leaveOutHuge. Hook programs start a
// new file when a file has maxFile bytes, so only a tampered file can exceed mostUnread.
const mostUnread = 4 * maxFile

// leaveOutHuge skips to the last maxFile bytes of the file if more than mostUnread bytes are
// unread. An agent CLI in a sandbox can give the file any size without writing data. Without this
// limit, Lines could read such a file for hours.
func (r *Reader) leaveOutHuge() {
	info, err := r.file.Stat()
	if err != nil {
		return
	}
	if at, err := r.file.Seek(0, io.SeekCurrent); err != nil || info.Size()-at <= mostUnread {
		return
	}
	if _, err := r.file.Seek(-maxFile, io.SeekEnd); err == nil {
		r.rest, r.skip = nil, true // the new position can be in the middle of a line; skip that line
	}
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

// Close closes the Reader. A call of Wait that is still waiting then returns an error.
func (r *Reader) Close() error {
	if r.file != nil {
		_ = r.file.Close()
	}
	return r.pipe.Close()
}
