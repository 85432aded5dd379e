package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/holder/journal"
	"coleo.dev/holder/memory"
	"coleo.dev/holder/process"
	"coleo.dev/holder/socket"
	"coleo.dev/holder/tty"
)

const (
	// unreadLimit is how many bytes of output the host agent can leave unread. At this limit the
	// holder stops reading the terminal, and the kernel blocks the program. So a host agent that is
	// down for a short time does not block the program.
	unreadLimit = 64 << 20
	// linger is how long a holder waits for its clients after the program has ended. Within this
	// time they read the program's end and disconnect. Later clients read exit.json.
	linger = 10 * time.Second
	// rememberedWrites is how many ids of applied writes the holder remembers. A few would be
	// enough: a client that does not know the outcome of a write repeats it before any other write.
	rememberedWrites = 256
	// termGrace is the time between TERM and KILL for the arm's processes, if the holder itself
	// receives SIGTERM. It is short because the machine is probably shutting down.
	termGrace = 2 * time.Second
)

// server is one running holder.
type server struct {
	launch  Launch
	journal *journal.Writer
	term    *tty.Terminal
	intake  *intake
	lock    *os.File
	tree    process.Tree // the arm's processes
	holder  coleo.Identity
	process coleo.Identity

	typing sync.Mutex // one goroutine types at a time; locked before mu

	// mu is held while output goes from the pseudo-terminal to the journal, and while the holder
	// decides on a write.
	mu              sync.Mutex
	cols            int
	rows            int
	answered        int64
	hostRead        int64         // the host agent has read the output before this offset
	leadLimit       int64         // how many bytes of output the host agent may leave unread; 0 means unreadLimit
	readFurther     chan struct{} // closed when the host agent has read more; nil if nobody waits for that
	doneWrites      map[string]bool
	doneOrder       []string
	blocked         string
	permittedUntil  time.Duration // if NeedsPermit is set: until when the holder may type, on package boottime's clock
	coveredUntil    int64         // a snapshot of the screen can replace the output before this offset
	lostBytes       int           // number of bytes that were lost because the disk was full
	exit            *Exit
	stopCause       stopCause // why the channel `stopping` was closed
	exited          chan struct{}
	stopping        chan struct{} // closed when somebody orders the end of the arm
	stopOnce        sync.Once
	hadClient       bool          // at least one client has connected
	connections     int           // number of open connections
	connectionEnded chan struct{} // closed and replaced when a connection ends

	pace           atomic.Int64 // limit for reading output, in bytes per second; 0: no limit
	memory         memory.Releaser
	guardMu        sync.Mutex
	guard          *guard        // nil if there is no guard
	guardDismissed chan struct{} // closed when the arm has ended in an orderly way and needs no guard any more
	guardsGone     chan struct{} // closed when the last guard has ended
}

// Serve runs a holder in this process, and returns when the holder's program has ended. It reads
// the Launch from the reader, as JSON. It writes the holder's status or an error to the writer, as
// one line of JSON, and closes the writer. The process must do nothing else, because the holder
// treats all children of the process as processes of the arm.
//
// A holder starts its guard with the same command. The JSON is then an order for a guard, and Serve
// runs the guard.
//
// If the program cannot be started, Serve returns the error that it has also written to the writer.
// If Serve returns an error after the program's end, the error says what could not be closed or
// removed.
func Serve(in io.Reader, out io.Writer) error {
	var d launchDocument
	if err := json.NewDecoder(in).Decode(&d); err != nil {
		return fmt.Errorf("read the launch: %w", err)
	}
	if d.Guard != nil {
		return guardArm(*d.Guard)
	}
	s, at, err := open(d.Launch)
	if err != nil {
		return errors.Join(err, report(out, response{Error: asError(err)}))
	}
	status := s.status()
	if err := report(out, response{Status: &status}); err != nil {
		return err
	}
	if c, ok := out.(io.Closer); ok {
		c.Close()
	}
	return s.run(at)
}

func report(out io.Writer, r response) error {
	return json.NewEncoder(out).Encode(r)
}

func asError(err error) *coleo.Error {
	var e *coleo.Error
	if errors.As(err, &e) {
		return e
	}
	return coleo.Errorf(coleo.EInternal, "%v", err)
}

// open starts the program and everything that the program needs. If it returns an error, nothing
// keeps running.
func open(l Launch) (*server, *socket.Listener, error) {
	if len(l.Argv) == 0 || l.Dir == "" {
		return nil, nil, coleo.Errorf(coleo.EInvalid, "a holder needs a folder and a program to run")
	}
	process.CloseDescriptorsOnExec()
	process.HideMemory()
	if err := process.BecomeReaper(); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the holder's folder: %w", err)
	}
	lock, err := takeFolder(l)
	if err != nil {
		return nil, nil, err
	}
	at, err := socket.Listen(SocketPath(l.Dir))
	if err != nil {
		return nil, nil, err
	}
	s := &server{
		launch: l, lock: lock, cols: l.Cols, rows: l.Rows,
		doneWrites: map[string]bool{}, exited: make(chan struct{}), connectionEnded: make(chan struct{}),
		stopping:       make(chan struct{}),
		guardDismissed: make(chan struct{}), guardsGone: make(chan struct{}),
	}
	s.tree.Program, s.tree.Guard = func() int { return s.term.Pid() }, s.guardPid
	s.tree.Exited = s.exited
	if err := s.start(); err != nil {
		s.dismissGuard()
		at.Close()
		os.Remove(SocketPath(l.Dir))
		return nil, nil, errors.Join(err, s.close())
	}
	return s, at, nil
}

// takeFolder makes this process the only holder in the folder. If an earlier holder has died
// together with its guard, takeFolder ends the processes of that holder's arm and removes the
// holder's socket. It also removes the file in which an earlier holder recorded its program's end.
// The error is EConflict if another holder runs in the folder, or if processes could not be ended.
func takeFolder(l Launch) (*os.File, error) {
	if socket.Answers(SocketPath(l.Dir)) {
		return nil, coleo.Errorf(coleo.EConflict, "a holder already runs in %s", l.Dir)
	}
	lock, err := lockFolder(l.Dir)
	if err != nil {
		return nil, err
	}
	if err := process.OpenGroup(l.Dir).End(l.Dir); err != nil {
		lock.Close()
		return nil, err
	}
	if left := sweepFolder(l); len(left) > 0 {
		lock.Close()
		return nil, coleo.Errorf(coleo.EConflict, "processes %v of the last generation of arm %s could not be ended",
			left, l.Arm)
	}
	for _, path := range []string{SocketPath(l.Dir), exitPath(l.Dir)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			lock.Close()
			return nil, fmt.Errorf("clear the holder's folder: %w", err)
		}
	}
	return lock, nil
}

// sweepFolder cleans up after an earlier holder in the folder. If that holder has not recorded the
// program's end, sweepFolder ends the arm's processes. It returns the pids of processes that are
// left. It does not touch newer starts of the arm, which have other folders.
func sweepFolder(l Launch) []int {
	if _, err := os.Stat(JournalDir(l.Dir)); err != nil {
		return nil
	}
	if _, err := os.Stat(exitPath(l.Dir)); err == nil {
		return nil
	}
	return process.SweepStarts(l.Arm, func(generation int, _ string) bool { return generation <= l.Generation })
}

// start opens the journal and the terminal, starts the guard, and then runs the program. The guard
// runs first, so that it does not miss a byte of the program's output.
func (s *server) start() error {
	var err error
	if s.journal, err = journal.Create(JournalDir(s.launch.Dir)); err != nil {
		return err
	}
	if s.intake, err = newIntake(); err != nil {
		return err
	}
	if s.term, err = tty.Open(s.cols, s.rows); err != nil {
		return err
	}
	if err := s.keepGuard(); err != nil {
		return err
	}
	env := append(s.launch.Env, s.launch.MarkEnv())
	if s.launch.Alone {
		env = append(env, process.EnvAlone+"=1")
	}
	s.tree.Group = process.MakeGroup(s.launch.Dir, s.launch.Arm, groupStart(s.launch), s.launch.Alone)
	err = tty.WithoutInjection(s.launch.AllowSudo, func() error {
		return s.term.Start(s.launch.Argv, env, s.launch.Workdir, s.tree.Group)
	})
	if err != nil {
		return coleo.Errorf(coleo.EInvalid, "start %s: %w", filepath.Base(s.launch.Argv[0]), err)
	}
	if s.process, err = process.IdentifyOwn(s.term.Pid()); err != nil {
		// Without an identity, nobody could prove later that the process belongs to the arm. So end it.
		_ = s.term.Signal(syscall.SIGKILL)
		return coleo.Errorf(coleo.EUnavailable, "start %s: the program was "+
			"started, but the system did not say which process "+
			"it is, so it was ended: %w; try again", filepath.Base(s.launch.Argv[0]), err)
	}
	if s.holder, err = process.Identify(os.Getpid()); err != nil {
		return err
	}
	s.journal.Mark(journal.Mark{Time: time.Now(), Kind: journal.MarkResize, Cols: s.cols, Rows: s.rows})
	return nil
}

// groupStart returns a word for the name of the control group. The word is different for each
// start of the arm.
func groupStart(l Launch) string {
	word, err := randomWord()
	if err != nil {
		word = strconv.Itoa(os.Getpid())
	}
	return strconv.Itoa(l.Generation) + "." + word
}

// close closes everything that start has opened, and releases the folder's lock.
func (s *server) close() error {
	var err error
	if s.term != nil {
		err = s.term.Close()
	}
	if s.intake != nil {
		s.intake.close()
	}
	if s.journal != nil {
		err = errors.Join(err, s.journal.Close())
	}
	return errors.Join(err, s.tree.Group.End(s.launch.Dir), s.lock.Close())
}

// run answers clients until the program has ended and all clients have disconnected.
func (s *server) run(at *socket.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE) // these signals do not end a holder
	go s.stopOnTerm(ctx)
	go s.tree.ReapOrphans(ctx)
	s.memory.ReleaseSoon()
	go s.accept(at)
	s.drainUntilExit()
	s.tree.End(0)
	runAfter(s.launch.After, s.launch.mark())
	groupErr := s.tree.Group.End(s.launch.Dir)
	s.tree.Group = process.Group{}
	s.awaitDisconnect()
	at.Close()
	os.Remove(SocketPath(s.launch.Dir))
	s.dismissGuard()
	return errors.Join(groupErr, s.close())
}

// awaitDisconnect waits until all clients have disconnected, but at most for linger. If no client
// has connected yet, it also waits for the first client, unless a person runs the holder.
func (s *server) awaitDisconnect() {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for {
		s.mu.Lock()
		allGone, left := (s.hadClient || s.launch.Alone) && s.connections == 0, s.connectionEnded
		s.mu.Unlock()
		if allGone {
			return
		}
		select {
		case <-left:
		case <-timer.C:
			return
		}
	}
}

// serveConnection answers the requests of one connection. It counts the connection as open until
// the connection ends.
func (s *server) serveConnection(conn io.ReadWriteCloser) {
	s.countConnection(1)
	defer s.countConnection(-1)
	s.answerRequests(conn)
}

func (s *server) countConnection(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hadClient = true
	s.connections += n
	if n < 0 {
		close(s.connectionEnded)
		s.connectionEnded = make(chan struct{})
	}
}

// stopOnTerm ends the arm if this process receives SIGTERM, for example when the machine shuts
// down. It returns when the arm or ctx has ended.
func (s *server) stopOnTerm(ctx context.Context) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	defer signal.Stop(terminated)
	select {
	case <-terminated:
		s.stop(stopTerminated)
		s.tree.End(termGrace)
	case <-ctx.Done():
	}
}

// stopCause says who has ordered the end of the arm.
type stopCause int32

const (
	stopTerminated stopCause = iota + 1 // the holder has received SIGTERM
	stopOrdered                         // a client has ordered the end
)

// stop notes that the end of the arm is ordered. Only the first call has an effect.
func (s *server) stop(cause stopCause) {
	s.stopOnce.Do(func() {
		s.mu.Lock()
		s.stopCause = cause
		s.mu.Unlock()
		close(s.stopping)
	})
}

func (s *server) accept(at *socket.Listener) {
	for {
		conn, err := at.Accept()
		if err != nil {
			return
		}
		go s.serveConnection(conn)
	}
}

func (s *server) status() Status {
	start, end := s.journal.Span()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{
		Version: protocolVersion, Arm: s.launch.Arm, Generation: s.launch.Generation, Nonce: s.launch.Nonce,
		Holder: s.holder, Process: s.process, Cols: s.cols, Rows: s.rows,
		Start: start, End: end, Answered: s.answered, Blocked: s.blocked, Exit: s.exit,
	}
}
