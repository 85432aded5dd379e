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
	// retryFull is the interval at which a write to a full disk is tried again.
	retryFull = 250 * time.Millisecond
	// retryHangup is the interval at which a terminal that every process has closed is
	// read again while the program still runs.
	retryHangup = 50 * time.Millisecond
	// drainAfterExit bounds how long the holder waits, after the program's end, for
	// output of the processes that it left behind.
	drainAfterExit = time.Second
	// pacePause is how long a drain that keeps to a pace rests at once. The echo of typed
	// keys is late by as much. maxPacePause bounds it for paces that are slower than a
	// terminal's buffer.
	pacePause    = 10 * time.Millisecond
	maxPacePause = 100 * time.Millisecond
	// largeStep is how much a program that writes continuously has written by the time
	// of the next read, in bytes. It is half of what a terminal returns at once.
	largeStep = 2 << 10
	// pollFor is how long the holder polls such a program before it waits for a wake-up
	// by the kernel. The program writes the next 4 KiB in some 40 us. Wake-ups cost 7 %
	// of the throughput.
	pollFor = 50 * time.Microsecond
)

// drainUntilExit moves output from the pseudo-terminal to the journal until the program
// has ended and its output has been read. Then it records the end.
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

// drain returns when the terminal is at its end or the read deadline passes.
func (s *server) drain() {
	raw, err := s.term.SyscallConn()
	if err != nil {
		return
	}
	var n int
	var failed error
	step := func(fd uintptr) bool { // made once, so that a holder makes no garbage of output
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
			time.Sleep(retryHangup) // every process has closed it; one may open it again
			continue
		}
		if err != nil || failed != nil || n == 0 {
			return
		}
	}
}

// keepPace rests once the bytes that were taken in are worth a pacePause at the ordered
// pace. It returns how many of them still count.
func (s *server) keepPace(unpaced int) int {
	rate := s.pace.Load()
	if rate == 0 {
		return 0
	}
	if int64(unpaced) < rate*int64(pacePause)/int64(time.Second) {
		return unpaced
	}
	select {
	case <-time.After(min(time.Duration(int64(unpaced))*time.Second/time.Duration(rate), maxPacePause)):
	case <-s.stopping:
	}
	return 0
}

// takeMore is takeOnce after a step that moved last bytes. After a large step more output
// comes at once, and waiting for a wake-up costs more than another read.
func (s *server) takeMore(master, last int) (int, error) {
	n, err := s.takeOnce(master)
	for start := time.Now(); err == syscall.EAGAIN && last >= largeStep && time.Since(start) < pollFor; {
		yield()
		n, err = s.takeOnce(master)
	}
	return n, err
}

// takeOnce moves output to the journal. It does so in one step under the lock. So a
// conditional write sees each byte in the terminal, in the intake or in the journal.
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

// journalIntake writes the intake to the journal. If the disk is full, it tries again until
// there is room, and reads nothing from the terminal meanwhile. So the kernel blocks the
// program that writes, and no output is lost. If somebody ends the arm meanwhile, the
// intake is lost. The caller holds mu; journalIntake releases it between two tries.
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
		if s.isStopping() { // whoever ends the arm now gives up its unwritten output
			s.lostBytes = s.intake.held()
			s.blocked = fmt.Sprintf("the journal could not be written: the last %d bytes are lost", s.lostBytes)
			return
		}
		s.mu.Unlock()
		time.Sleep(retryFull)
		s.mu.Lock()
	}
}

// waitForReader returns when the host agent has read far enough for the drain to go on.
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

// setLead sets how many bytes may be taken in that the host agent has not read; 0 stands
// for unreadLimit.
func (s *server) setLead(ahead int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leadLimit = ahead
	s.wakeDrain()
}

// leadBound returns how many bytes may be taken in that the host agent has not read. It is
// at most unreadLimit. The caller holds mu.
func (s *server) leadBound() int64 {
	if s.leadLimit > 0 {
		return min(s.leadLimit, unreadLimit)
	}
	return unreadLimit
}

// wakeDrain wakes a drain that waits. The caller holds mu.
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

// advance records how far the host agent has read.
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

// setCovered records the end of the output that the host agent no longer needs, and
// deletes what is over the bound.
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
	if err != nil { // not again before the next report of the host agent
		s.mu.Lock()
		s.coveredUntil = 0
		s.mu.Unlock()
	}
	return err
}
