package process

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

// Watch looks at one process repeatedly, at the cost of one read each time. It keeps the
// process's stat file open. The kernel binds that file to the process: it never shows
// another process that gets the same pid.
type Watch struct {
	ID   coleo.Identity
	stat *os.File
}

// NewWatch watches the process that id names. The error is unix.ESRCH when that process
// has ended.
func NewWatch(id coleo.Identity) (*Watch, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(id.PID) + "/stat")
	if err != nil {
		return nil, err
	}
	w := &Watch{ID: id, stat: f}
	// The file may be of another process that has the pid now. Then the process that id
	// names is gone.
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

// Close ends the watch.
func (w *Watch) Close() error { return w.stat.Close() }
