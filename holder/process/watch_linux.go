package process

//platform:linux A stopped agent CLI (SIGSTOP) = `status`, `list` and `explain` say so

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

// Watch checks one process repeatedly, with one read for each check. It keeps the process's stat
// file in /proc open. The kernel ties the open file to the process, so the file never shows a later
// process with the same pid.
type Watch struct {
	ID   coleo.Identity
	stat *os.File
}

// NewWatch returns a Watch of the process with the identity id. If the process has ended, the error
// is unix.ESRCH.
func NewWatch(id coleo.Identity) (*Watch, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(id.PID) + "/stat")
	if err != nil {
		return nil, err
	}
	w := &Watch{ID: id, stat: f}
	// If the process ended before Open, the open file can belong to a later process with the same
	// pid.
	if !Same(id) || w.Look() == Dead {
		f.Close()
		return nil, unix.ESRCH
	}
	return w, nil
}

// Look returns the Liveness of the process.
func (w *Watch) Look() Liveness {
	var buf [statRoom]byte
	n, err := w.stat.ReadAt(buf[:], 0)
	behindName := bytes.LastIndexByte(buf[:max(n, 0)], ')')
	if n == 0 && err != nil && err != io.EOF {
		return withoutLook(err)
	}
	if behindName < 0 || n <= behindName+2 {
		return Dead
	}
	return livenessOf(buf[behindName+2])
}

// Close closes the stat file.
func (w *Watch) Close() error { return w.stat.Close() }
