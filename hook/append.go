package hook

import (
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

// Then is the argument after which the command line of another program begins. This
// program gets the same payload as the hook program.
const Then = "--then"

// Run is the hook program. It appends one report to the file args[0]. The payload is
// the last argument, or stdin if there is only one argument. Run prints nothing,
// returns no error and ends within two seconds, because the hook must not disturb the
// agent CLI.
//
// Between the file and the payload, the arguments may have Then and the command line of
// a user's program. Run starts this program with the payload as the last argument, even
// if the report failed. Run does not wait for the program.
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

// Append appends one report to the file at path, and wakes the file's reader. The
// report has the payload, which must be a JSON object. Append uses a single write. The
// folder of the file must exist.
func Append(path string, payload io.Reader, now time.Time) error {
	line, err := newLine(payload, now)
	if err != nil {
		return err
	}
	file, err := openToAppend(path)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	wake(wakePath(path))
	return nil
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
	out, err := json.Marshal(l)
	return append(out, '\n'), err
}

// openToAppend opens the file and locks it. Closing the file releases the lock. If the
// file is full, openToAppend starts a new file.
func openToAppend(path string) (*os.File, error) {
	for range lockTries {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		lock(file)
		switch info, err := file.Stat(); {
		case err != nil:
			return nil, errors.Join(err, file.Close())
		case !isAt(info, path): // the file was renamed in the meantime
		case info.Size() < maxFile:
			return file, nil
		default:
			if err := os.Rename(path, oldPath(path)); err != nil {
				return nil, errors.Join(err, file.Close())
			}
		}
		_ = file.Close()
	}
	return nil, fmt.Errorf("append to %s: other processes keep replacing it", path)
}

func isAt(info os.FileInfo, path string) bool {
	there, err := os.Stat(path)
	return err == nil && os.SameFile(info, there)
}

// lock waits until no other hook program appends. After a bounded time it continues
// without the lock, because a stopped program could hold the lock forever. This is
// safe, because each line is a single write.
func lock(file *os.File) {
	for range lockTries {
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return
		}
		time.Sleep(lockPause)
	}
}

// wake writes a byte into the reader's pipe, if there is a reader.
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
