//go:build !linux

package holder

//platform:macos Output during a kill of the holder = up to 64 KiB can be lost

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev/holder/journal"
)

// readSize is the size of one read from the pseudo-terminal, in bytes. A pseudo-terminal never
// holds more.
const readSize = 64 << 10

// intake reads output and then writes it to the journal. If the holder is killed with kill -9
// between a read and the write, the bytes of that read are lost. These are at most 64 KiB.
type intake struct {
	buf       []byte
	unwritten []byte // bytes that were read and are not written yet
}

func newIntake() (*intake, error) { return &intake{buf: make([]byte, readSize)}, nil }

func inheritIntake(int) (*intake, error) { return newIntake() }

// keptPipe returns -1, because no descriptor keeps the bytes in the intake.
func (in *intake) keptPipe() int { return -1 }

// unjournaledBytes returns how many bytes were taken from the pseudo-terminal and are not in the
// journal yet.
func (in *intake) unjournaledBytes() int { return len(in.unwritten) }

func (in *intake) take(master int) (int, error) {
	n, err := unix.Read(master, in.buf)
	if n > 0 {
		in.unwritten = append(in.unwritten, in.buf[:n]...)
	}
	return max(n, 0), err
}

func (in *intake) flush(j *journal.Writer, now time.Time) error {
	n, err := j.Append(in.unwritten, now)
	in.unwritten = append(in.unwritten[:0], in.unwritten[n:]...)
	return err
}

func (in *intake) close() {}

// yield gives other goroutines a chance to run before this one.
func yield() { runtime.Gosched() }
