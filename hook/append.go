package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Then is the argument before the command line of a user's own hook program, for example `--then
// /home/ann/notify.sh`. Run starts that program, too, and passes it the agent CLI's report.
const Then = "--then"

// Run is the hook program: it appends one report of the agent CLI to the file args[0]. The report
// is the last argument, or standard input if args[0] is the only argument. Run prints nothing,
// returns no error and ends within two seconds, because the hook must not disturb the agent CLI.
//
// Between the file and the report, the arguments can contain Then and the command line of a user's
// program. Run starts the user's program with the report as its last argument, and does not wait
// for that program. Run starts it even if it could not append the report to the file.
func Run(args []string, stdin io.Reader) {
	if len(args) == 0 {
		return
	}
	in := stdin
	if len(args) > 1 {
		in = strings.NewReader(args[len(args)-1])
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = Append(args[0], in, time.Now())
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
	if len(args) > 3 && args[1] == Then {
		_ = exec.Command(args[2], args[3:]...).Start()
	}
}

// Append appends one report to the file at path in a single write, and wakes the file's
// Reader. The payload must be a JSON object. The folder of the file must exist.
func Append(path string, payload io.Reader, now time.Time) error {
	line, err := newLine(payload, now)
	if err != nil {
		return err
	}
	file, err := openToAppend(path)
	if err != nil {
		return err
	}
	if !endsLine(file) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = file.Write(line)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	wake(wakePath(path))
	return nil
}

// endsLine reports whether the file is empty or ends with a whole line. On a full disk, a hook program can write a part
// of its line.
func endsLine(file *os.File) bool {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return true
	}
	var last [1]byte
	_, err = file.ReadAt(last[:], info.Size()-1)
	return err != nil || last[0] == '\n'
}

func newLine(payload io.Reader, now time.Time) ([]byte, error) {
	l := Line{Time: now.UTC()}
	if err := json.NewDecoder(io.LimitReader(payload, maxInput)).Decode(&l.Payload); err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	size := 0
	for _, v := range l.Payload {
		size += len(v)
	}
	bySize := slices.SortedFunc(maps.Keys(l.Payload),
		func(a, b string) int { return len(l.Payload[b]) - len(l.Payload[a]) })
	for _, key := range bySize {
		if n := len(l.Payload[key]); n > maxValue || size > maxLine {
			l.Cut, size = append(l.Cut, key), size-n
			delete(l.Payload, key)
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // otherwise values with markup would become so long that the Reader skips the line
	err := e.Encode(l)
	return out.Bytes(), err
}

// openToAppend opens the file at path and locks it until the caller closes it. If the file is full,
// openToAppend renames it and starts a new file. In a sandbox, the file is a mount of its own, and a
// mount cannot be renamed. So there openToAppend empties the full file instead.
func openToAppend(path string) (*os.File, error) {
	for range lockTries {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		lock(file)
		switch info, err := file.Stat(); {
		case err != nil:
			return nil, errors.Join(err, file.Close())
		case !isAt(info, path): // try again, because another process has renamed the file since it was opened
		case info.Size() < maxFile:
			return file, nil
		default:
			err := os.Rename(path, oldPath(path))
			if errors.Is(err, syscall.EBUSY) {
				if err = file.Truncate(0); err == nil {
					return file, nil
				}
			}
			if err != nil {
				return nil, errors.Join(err, file.Close())
			}
		}
		_ = file.Close()
	}
	return nil, fmt.Errorf("append to %s: other processes keep replacing it", path)
}

func isAt(info os.FileInfo, path string) bool {
	found, err := os.Stat(path)
	return err == nil && os.SameFile(info, found)
}

// lock waits until no other hook program appends to the file, for at most 200 ms. The wait is
// limited because a stopped program could hold the lock forever. Appending without the lock is
// safe, because each line is a single write.
func lock(file *os.File) {
	for range lockTries {
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return
		}
		time.Sleep(lockPause)
	}
}

// wake writes a byte into the pipe at path, so that Reader.Wait returns. If no Reader has the pipe
// open, wake does nothing.
func wake(path string) {
	pipe, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer pipe.Close()
	if info, err := pipe.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	_, _ = syscall.Write(int(pipe.Fd()), []byte{'\n'})
}
