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
	// unreadLimit is the number of bytes of output that the host agent may leave
	// unread. When more is unread, the holder stops draining, and the kernel blocks the
	// writer.
	unreadLimit = 64 << 20
	// linger is how long a holder waits after the program has ended. In this time,
	// connected clients can read the program's end and disconnect. Later clients read
	// exit.json.
	linger = 10 * time.Second
	// rememberedWrites is how many ids of writes that are done the holder remembers. A
	// client that is unsure about a write repeats that write before it writes anything
	// else.
	rememberedWrites = 256
	// termGrace is the time between TERM and KILL if the holder itself is told to end.
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

	typing sync.Mutex // lets one writer type at a time; locked before mu

	// locked while output goes from the pseudo-terminal to the journal, and while a
	// write is decided
	mu              sync.Mutex
	cols            int
	rows            int
	answered        int64
	hostRead        int64         // the offset up to which the host agent has read
	leadLimit       int64         // how far the drain may be ahead of the host agent, in bytes; 0: unreadLimit
	readFurther     chan struct{} // closed when the host agent has read more; nil: nobody waits
	doneWrites      map[string]bool
	doneOrder       []string
	blocked         string
	permittedUntil  time.Duration // end of the permit on package boottime's clock; for NeedsPermit
	coveredUntil    int64         // end of the output that a host agent's snapshot replaces
	lostBytes       int           // number of bytes that were given up because the disk was full
	exit            *Exit
	exited          chan struct{}
	stopping        chan struct{} // closed when somebody ends the arm
	stopOnce        sync.Once
	hadClient       bool          // at least one client has connected
	connections     int           // number of open connections
	connectionEnded chan struct{} // closed and replaced when a connection ends

	pace           atomic.Int64 // highest number of bytes per second that are taken in; 0: no limit
	memory         memory.Releaser
	guardMu        sync.Mutex
	guard          *guard        // nil if there is no guard
	guardDismissed chan struct{} // closed when the arm has ended in order
	guardsGone     chan struct{} // closed when the last guard is gone
}

// Serve runs a holder in this process. It returns when the holder's program has ended.
// It reads the Launch from in as JSON. It writes a report to out, as one line of JSON.
// Then it closes out. The process must do nothing else, because all its children count
// as the arm's processes.
//
// A holder starts its guard with the same command. In that case, in holds the order for
// a guard, and Serve runs the guard. If the program cannot be started, the error is
// also reported on out. Errors after the start tell what could not be closed or
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

// open starts the program and everything that it needs. If something fails, open leaves
// nothing running.
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

// takeFolder makes this process the only holder of the folder. If an earlier holder and
// its guard both died in the folder, takeFolder ends the processes of the arm that they
// left. It removes their files: a socket on which nobody answers, and the exit record
// of another generation.
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

// sweepFolder sweeps if the folder had a holder that recorded no end. It does not touch
// a newer start of the arm. Such a start has another folder.
func sweepFolder(l Launch) []int {
	if _, err := os.Stat(JournalDir(l.Dir)); err != nil {
		return nil
	}
	if _, err := os.Stat(exitPath(l.Dir)); err == nil {
		return nil
	}
	return process.SweepStarts(l.Arm, func(generation int, _ string) bool { return generation <= l.Generation })
}

// start opens the journal and the terminal, and runs the program. The guard starts
// before the program can write its first byte.
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
	s.process, _ = process.Identify(s.term.Pid())
	if s.holder, err = process.Identify(os.Getpid()); err != nil {
		return err
	}
	s.journal.Mark(journal.Mark{Time: time.Now(), Kind: journal.MarkResize, Cols: s.cols, Rows: s.rows})
	return nil
}

// groupStart returns the part of the control group's name that tells this start from all
// other starts of the arm.
func groupStart(l Launch) string {
	word, err := randomWord()
	if err != nil {
		word = strconv.Itoa(os.Getpid())
	}
	return strconv.Itoa(l.Generation) + "." + word
}

// close closes everything that start has opened.
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

// run serves clients. It returns when the program has ended and all clients have
// disconnected.
func (s *server) run(at *socket.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE) // the holder outlives terminals and services
	go s.stopOnTerm(ctx)
	go s.tree.ReapOrphans(ctx)
	s.memory.ReleaseSoon()
	go s.accept(at)
	s.drainUntilExit()
	s.tree.End(0)
	groupErr := s.tree.Group.End(s.launch.Dir)
	s.tree.Group = process.Group{}
	s.awaitDisconnect()
	at.Close()
	os.Remove(SocketPath(s.launch.Dir))
	s.dismissGuard()
	return errors.Join(groupErr, s.close())
}

// awaitDisconnect returns when no client is connected any longer. It waits for a first
// client, unless the holder runs for a person. It returns after linger in any case.
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

// serveConnection serves a connection. Meanwhile the connection counts as open.
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

// stopOnTerm ends the arm when this process receives SIGTERM. A machine that shuts down
// sends SIGTERM, for example. If ctx ends first, stopOnTerm returns and does nothing.
func (s *server) stopOnTerm(ctx context.Context) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	defer signal.Stop(terminated)
	select {
	case <-terminated:
		s.stopOnce.Do(func() { close(s.stopping) })
		s.tree.End(termGrace)
	case <-ctx.Done():
	}
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
