package holder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev/holder/journal"
	"coleo.dev/holder/process"
	"coleo.dev/holder/tty"
)

const (
	// guardGrace is how long a guard waits between HUP and KILL, when it ends the processes of an
	// arm whose holder has died. Agent CLIs save their state within a second.
	guardGrace = 2 * time.Second
	// guardFull is how long a guard waits for free space on a full disk. It is short, because the
	// next holder in the folder must wait for the guard.
	guardFull = 5 * time.Second
)

// holderDied is the beginning of the Reason in each Exit that a guard records.
const holderDied = "its holder has died"

// guardArm is the main function of a guard. It first waits on the lifeline, a pipe from the holder.
// If the holder reports the end of the arm, guardArm returns. If the lifeline breaks, the holder
// has died. guardArm then ends the arm's process tree, journals the last output, and records the
// end. It holds the folder's lock until it returns.
func guardArm(o guardOrder) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	if endedInOrder(os.NewFile(guardLifeline, "lifeline")) {
		return nil
	}
	w, err := openGuardWork(o.Dir)
	if err != nil {
		w = &guardWork{terminalEnded: true} // the end of the processes is more important than their last output
	}
	left := w.endTree(o, process.OpenGroup(o.Dir))
	runAfter(o.After, o.Mark)
	groupErr := process.OpenGroup(o.Dir).End(o.Dir)
	if err == nil {
		err = w.journalAll(time.Now().Add(guardFull))
		defer w.journal.Close()
	}
	return errors.Join(groupErr, err, w.record(o.Dir, left, err))
}

// endedInOrder waits until the holder reports the end of the arm or dies. It returns true if the
// holder has reported the end.
func endedInOrder(lifeline io.Reader) bool {
	n, _ := lifeline.Read(make([]byte, 1))
	return n > 0
}

// guardWork contains what a guard needs to end an arm whose holder has died.
type guardWork struct {
	journal       *journal.Writer // nil if the guard cannot journal the output
	intake        *intake
	terminalEnded bool // the terminal can have no more output, or the guard does not read it
}

// openGuardWork opens the journal in the holder's folder `dir`, and the pipe of the holder's intake.
func openGuardWork(dir string) (*guardWork, error) {
	j, err := journal.Create(JournalDir(dir))
	if err != nil {
		return nil, err
	}
	in, err := inheritIntake(guardPipe)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return &guardWork{journal: j, intake: in}, nil
}

// endTree ends all processes that carry the mark of the arm's start in their environment or are in
// the arm's control group. It sends KILL only after guardGrace, so that the processes can end by
// themselves. Until then it reads their output, because a process that waits for its terminal
// cannot end. endTree returns the pids of the processes that are left.
func (w *guardWork) endTree(o guardOrder, g process.Group) []int {
	return process.EndMarked(g, o.Arm, process.OfStart(o.Nonce), guardGrace, func() {
		if w.terminalEnded || !tty.Readable(guardMaster, process.PollEvery) {
			time.Sleep(process.PollEvery)
		}
		if w.journal != nil {
			_ = w.journalAvailable()
		}
	})
}

// journalAvailable writes to the journal all output that is available now. It does not wait for
// more.
func (w *guardWork) journalAvailable() error {
	for {
		if err := w.intake.flush(w.journal, time.Now()); err != nil {
			return err
		}
		n, err := w.intake.take(guardMaster)
		if n == 0 && err != unix.EINTR {
			w.terminalEnded = err != unix.EAGAIN
			return nil
		}
	}
}

// journalAll moves all remaining output to the journal. If the disk is full, it tries again until
// the deadline.
func (w *guardWork) journalAll(deadline time.Time) error {
	for {
		err := w.journalAvailable()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(retryFull)
	}
}

// record records the end of the arm, unless the holder itself recorded the end before it died.
// survivors contains the pids of processes that could not be ended. If output could not be
// journaled, lostOutput is the reason; otherwise it is nil.
func (w *guardWork) record(dir string, survivors []int, lostOutput error) error {
	if recorded, err := ReadExit(dir); err == nil && recorded != nil {
		return nil
	}
	e := Exit{Code: -1, Reason: holderDied, Time: time.Now().UTC()}
	if len(survivors) > 0 {
		e.Reason += fmt.Sprintf("; processes %v of it are left", survivors)
	}
	if lostOutput != nil {
		e.Reason += "; the end of its output is lost: " + lostOutput.Error()
	}
	if w.journal == nil {
		_, end, err := journal.Span(JournalDir(dir))
		e.Offset = end
		return errors.Join(err, writeExit(dir, e))
	}
	e.Offset = w.journal.End()
	if lostOutput != nil {
		w.journal.Mark(journal.Mark{Time: e.Time, Kind: journal.MarkGap, Lost: w.intake.unjournaledBytes()})
	}
	w.journal.Mark(journal.Mark{Time: e.Time, Kind: journal.MarkExit})
	return writeExit(dir, e)
}
