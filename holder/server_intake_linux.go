package holder

//platform:linux Output during a kill of the holder = no byte is lost

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev/holder/journal"
)

const (
	// spliceSize is how many bytes the intake requests from the pseudo-terminal at a time. The
	// pseudo-terminal never returns more, so a larger request would only make the kernel reserve
	// more pages.
	spliceSize = 4096
	// maxTake is the largest number of bytes that one step moves from the pseudo-terminal to the
	// journal. It is the size of the pipe, which has 16 pages.
	maxTake = 16 * spliceSize
)

// intake moves output from the pseudo-terminal through a pipe to the journal. The kernel moves the
// bytes, so no byte exists only in this process. The guard also holds the pipe, so the bytes in the
// pipe survive a kill -9 of the holder.
//
// Before Linux 5.11, kernels cannot splice from a pseudo-terminal. Some kernels cannot splice to
// the file system of the journal. The intake then reads and writes the bytes itself. If the holder
// is killed between a read and the write, the bytes of that read are lost. They are at most 4095
// bytes, because one read from a pseudo-terminal returns no more.
type intake struct {
	read, write   int // the two ends of the pipe
	inPipe        int // number of bytes in the pipe
	withoutSplice bool
	unwritten     []byte // if withoutSplice is set: bytes that were read and are not written yet
}

// newIntake creates an intake with a new pipe. No child inherits the pipe.
func newIntake() (*intake, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("make a pipe for output: %w", err)
	}
	return &intake{read: ends[0], write: ends[1]}, nil
}

// inheritIntake creates an intake with the pipe of another intake. It takes over the bytes in the
// pipe.
func inheritIntake(pipe int) (*intake, error) {
	inside, err := unix.IoctlGetInt(pipe, unix.TIOCINQ)
	if err != nil {
		return nil, fmt.Errorf("look into the pipe of output: %w", err)
	}
	write, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pipe), unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the pipe of output: %w", err)
	}
	return &intake{read: pipe, write: write, inPipe: inside}, nil
}

// keptPipe returns the descriptor that the guard must hold, so that the bytes in the pipe survive
// the death of the holder.
func (in *intake) keptPipe() int { return in.read }

// unjournaledBytes returns how many bytes were taken from the pseudo-terminal and are not in the
// journal yet.
func (in *intake) unjournaledBytes() int { return in.inPipe + len(in.unwritten) }

// take moves the available output into the pipe, and returns the number of moved bytes. It returns
// EAGAIN if there is no output, and EIO if all processes have closed the terminal.
func (in *intake) take(master int) (int, error) {
	if in.withoutSplice {
		return in.takePlain(master)
	}
	total := 0
	for total < maxTake {
		n, err := splice(master, in.write, spliceSize)
		if n > 0 {
			in.inPipe += n
			total += n
			if n >= spliceSize/2 {
				continue // so much was read that there can be more output
			}
		}
		if total > 0 {
			break
		}
		if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EPERM {
			in.withoutSplice = true
			return in.takePlain(master)
		}
		return 0, err
	}
	return total, nil
}

func (in *intake) takePlain(master int) (int, error) {
	buf := make([]byte, spliceSize)
	n, err := unix.Read(master, buf)
	if n > 0 {
		in.unwritten = append(in.unwritten, buf[:n]...)
	}
	return max(n, 0), err
}

// flush moves the bytes in the intake to the journal. After an error, the bytes that
// were not moved stay in the intake.
func (in *intake) flush(j *journal.Writer, now time.Time) error {
	for in.inPipe > 0 {
		n, err := j.Extend(now, func(f *os.File, most int) (int, error) {
			return splice(in.read, int(f.Fd()), min(in.inPipe, most))
		})
		in.inPipe -= n
		if errors.Is(err, unix.EINVAL) {
			if err = in.stopSplicing(); err != nil {
				return err
			}
			break
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	n, err := j.Append(in.unwritten, now)
	in.unwritten = in.unwritten[n:]
	return err
}

// stopSplicing moves the bytes in the pipe to the field `unwritten`. After that, the intake works
// without splice. flush calls it if the journal's file system does not support splice.
func (in *intake) stopSplicing() error {
	in.withoutSplice = true
	buf := make([]byte, in.inPipe)
	n, err := unix.Read(in.read, buf)
	if err != nil {
		return fmt.Errorf("empty the pipe of output: %w", err)
	}
	in.unwritten, in.inPipe = append(in.unwritten, buf[:n]...), in.inPipe-n
	return nil
}

func (in *intake) close() {
	_ = unix.Close(in.read)
	_ = unix.Close(in.write)
}

func splice(from, to, most int) (int, error) {
	n, err := unix.Splice(from, nil, to, nil, most, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
	return max(int(n), 0), err
}

// yield gives other threads a chance to run before this one.
func yield() { _, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
