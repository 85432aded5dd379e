package holder

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/holder/journal"
	"coleo.dev/holder/process"
)

const (
	// retryFull is the time between two attempts to write the journal to a full disk.
	retryFull = 250 * time.Millisecond
	// retryHangup is the time between two attempts to read the terminal after all processes have
	// closed it. The holder tries again while the program runs, because a process can open the
	// terminal again.
	retryHangup = 50 * time.Millisecond
	// drainAfterExit is how long the holder still waits for output after the program's end. Such
	// output comes from processes that the program has left behind.
	drainAfterExit = time.Second
	// pacePause is the length of one pause in the reading of the terminal. The pauses keep the holder
	// from reading faster than Client.Pace allows. A pause is short, because it delays the echo of
	// typed keys. maxPacePause is the longest pause, for very low rates.
	pacePause    = 10 * time.Millisecond
	maxPacePause = 100 * time.Millisecond
	// largeStep is half of what a terminal returns in one read, in bytes. If one read returns at
	// least this many, the holder assumes that the program writes continuously.
	largeStep = 2 << 10
	// pollFor is how long the holder polls while the program writes continuously. After this time,
	// it waits for the kernel to wake it. The next 4 KiB of such a program arrive in about 40 µs.
	// If the holder waited for the kernel each time, the throughput would be 7 % lower.
	pollFor = 50 * time.Microsecond
	// mostRest is how many bytes the holder reads after drainAfterExit has passed. The buffers of the kernel hold
	// fewer bytes.
	mostRest = 256 << 10
)

// drainUntilExit moves output from the pseudo-terminal to the journal until the program has ended
// and all its output has been read. Then it records the program's end.
func (s *server) drainUntilExit() {
	type ended struct {
		code, signal int
		at           time.Time
	}
	end := make(chan ended, 1)
	go func() {
		code, signal := s.waitForProgram()
		end <- ended{code, signal, time.Now()}
	}()
	drained := make(chan struct{})
	go func() { defer close(drained); s.drain() }()
	e := <-end
	_ = s.term.SetReadDeadline(e.at.Add(drainAfterExit))
	<-drained
	offset := s.journal.End()
	s.recordExit(Exit{Code: e.code, Signal: e.signal, Time: e.at.UTC(), Offset: offset})
}

func (s *server) waitForProgram() (code, signal int) {
	process.AwaitEnd(s.term.Pid())
	state, err := s.term.Wait()
	if state == nil || err != nil && state == nil {
		return -1, 0
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, int(w.Signal())
	}
	return state.ExitCode(), 0
}

func (s *server) recordExit(e Exit) {
	s.mu.Lock()
	e.Terminated, e.Ordered = s.stopCause == stopTerminated, s.stopCause == stopOrdered
	s.exit = &e
	s.mu.Unlock()
	if s.lostBytes > 0 {
		s.journal.Mark(journal.Mark{Time: e.Time, Kind: journal.MarkGap, Lost: s.lostBytes})
	}
	s.journal.Mark(journal.Mark{Time: e.Time, Kind: journal.MarkExit})
	if err := writeExit(s.launch.Dir, e); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	close(s.exited)
}

// drain moves output from the terminal to the journal. It returns when the terminal has ended or
// the read deadline has passed.
func (s *server) drain() {
	raw, err := s.term.SyscallConn()
	if err != nil {
		return
	}
	var n int
	var failed error
	step := func(fd uintptr) bool { // one closure for all steps, to avoid garbage
		n, failed = s.takeMore(int(fd), n)
		return failed != syscall.EAGAIN && failed != syscall.EINTR
	}
	for unpaced := 0; ; unpaced += max(n, 0) {
		unpaced = s.keepPace(unpaced)
		s.waitForReader()
		err := raw.Read(step)
		if trimErr := s.trim(); trimErr != nil {
			fmt.Fprintln(os.Stderr, trimErr)
		}
		if err == nil && failed == syscall.EIO && s.programRuns() {
			time.Sleep(retryHangup) // all processes have closed the terminal; a process can open it again
			continue
		}
		if err != nil {
			s.takeRest()
			return
		}
		if failed != nil || n == 0 {
			return
		}
	}
}

// takeRest moves to the journal what the terminal still holds when the read deadline has passed. The deadline can
// pass while drain does not read, because the host agent is behind or the disk is full. takeRest moves only about
// mostRest bytes, because a process that the program has left behind can write endlessly.
func (s *server) takeRest() {
	for taken := 0; taken < mostRest; {
		var n int
		var err error
		failed := s.term.Control(func(master int) { n, err = s.takeOnce(master) })
		if failed != nil || n <= 0 && err != syscall.EINTR {
			return
		}
		taken += max(n, 0)
	}
}

// keepPace keeps the holder from reading faster than Client.Pace allows. unpacedBytes is the number
// of bytes that were read since the last pause. At the allowed rate, reading them takes a certain
// time. If this time is at least pacePause, keepPace pauses for it. keepPace returns the new value
// of unpacedBytes, which is 0 after a pause.
func (s *server) keepPace(unpacedBytes int) int {
	rate := s.pace.Load()
	if rate == 0 {
		return 0
	}
	if int64(unpacedBytes) < rate*int64(pacePause)/int64(time.Second) {
		return unpacedBytes
	}
	select {
	case <-time.After(min(time.Duration(int64(unpacedBytes))*time.Second/time.Duration(rate), maxPacePause)):
	case <-s.stopping:
	}
	return 0
}

// takeMore works like takeOnce, but polls for up to pollFor if the previous step moved at least
// largeStep bytes. A program that has written so much will soon write more, and polling is faster
// than a wait for the kernel. lastBytes is how many bytes the previous step moved.
func (s *server) takeMore(master, lastBytes int) (int, error) {
	n, err := s.takeOnce(master)
	for start := time.Now(); err == syscall.EAGAIN && lastBytes >= largeStep && time.Since(start) < pollFor; {
		yield()
		n, err = s.takeOnce(master)
	}
	return n, err
}

// takeOnce moves output from the terminal to the journal in one step, and holds mu during the step.
// A conditional write needs mu, too. So it never looks for new output while bytes are between the
// terminal and the journal.
func (s *server) takeOnce(master int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.intake.take(master)
	if n > 0 {
		s.memory.ReleaseSoon()
		s.journalIntake()
		err = nil
	}
	return n, err
}

// journalIntake writes the bytes in the intake to the journal. On a full disk it tries again until
// there is free space. Meanwhile the holder does not read the terminal, so the kernel blocks the
// program, and no output is lost. If somebody ends the arm during that time, the bytes in the
// intake are lost. The caller must hold mu. journalIntake releases mu between two attempts.
func (s *server) journalIntake() {
	for {
		err := s.intake.flush(s.journal, time.Now())
		if err == nil {
			s.blocked = ""
			return
		}
		s.blocked = "the journal cannot be written: " + err.Error()
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			s.blocked = "no room: " + s.blocked
		}
		if s.isStopping() { // the end of the arm is more important than the unwritten output
			s.lostBytes = s.intake.unjournaledBytes()
			s.blocked = fmt.Sprintf("the journal could not be written: the last %d bytes are lost", s.lostBytes)
			return
		}
		s.mu.Unlock()
		time.Sleep(retryFull)
		s.mu.Lock()
	}
}

// waitForReader waits until the host agent has less unread output than its limit: see leadBound. It
// also returns if somebody orders the end of the arm.
func (s *server) waitForReader() {
	for {
		s.mu.Lock()
		end := s.journal.End()
		near := s.launch.Alone || end-s.hostRead < s.leadBound()
		if !near && s.readFurther == nil {
			s.readFurther = make(chan struct{})
		}
		advanced := s.readFurther
		s.mu.Unlock()
		if near {
			return
		}
		select {
		case <-advanced:
		case <-s.stopping:
			return
		}
	}
}

// setLead limits how many bytes of output the host agent can leave unread. A limit of 0 means
// unreadLimit.
func (s *server) setLead(limit int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leadLimit = limit
	s.wakeDrain()
}

// leadBound returns how many bytes of output the host agent can leave unread. The result is at most
// unreadLimit. The caller must hold mu.
func (s *server) leadBound() int64 {
	if s.leadLimit > 0 {
		return min(s.leadLimit, unreadLimit)
	}
	return unreadLimit
}

// wakeDrain wakes waitForReader if it waits for the host agent. The caller must hold mu.
func (s *server) wakeDrain() {
	if s.readFurther != nil {
		close(s.readFurther)
		s.readFurther = nil
	}
}

func (s *server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// advance records that the host agent has read the output before the given offset.
func (s *server) advance(offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if offset > s.hostRead {
		s.hostRead = offset
		s.wakeDrain()
	}
}

func (s *server) programRuns() bool {
	_, err := process.Identify(s.term.Pid())
	return err == nil
}

// setCovered records that the host agent has a snapshot of the screen that replaces the output
// before the given offset. If the journal exceeds its limit, setCovered deletes such output.
func (s *server) setCovered(offset int64) response {
	if offset > s.journal.End() {
		return refuse(coleo.EInvalid, "offset %d is not in the journal yet", offset)
	}
	s.mu.Lock()
	s.coveredUntil = max(s.coveredUntil, offset)
	s.mu.Unlock()
	if err := s.trim(); err != nil {
		return refuse(coleo.EInternal, "%w", err)
	}
	return response{}
}

func (s *server) trim() error {
	s.mu.Lock()
	covered := s.coveredUntil
	s.mu.Unlock()
	keep := s.launch.Keep
	if keep <= 0 {
		keep = DefaultKeep
	}
	err := s.journal.Trim(keep, covered)
	// Trim again only after the host agent has reported a new offset.
	if err != nil {
		s.mu.Lock()
		s.coveredUntil = 0
		s.mu.Unlock()
	}
	return err
}
