package holder

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
)

// A guard is a second process that holds what must not die with the holder. That is the
// master of the pseudo-terminal, the pipe through which output goes, and the folder's
// lock. It sleeps until its lifeline breaks, or until a line on it says that the holder
// has ended in order. When the lifeline breaks, the guard becomes a program that ends the
// arm's tree and journals the output still on its way: see guarding.go. While it sleeps
// it is a shell in a read, the smallest process that every system has.

const (
	shell = "/bin/sh"
	// guardScript ends when a line comes, and runs its arguments when the lifeline
	// breaks. Signals that it ignores stay ignored in the program that it runs.
	guardScript = `trap '' HUP INT TERM; read x <&3 && exit 0; exec "$@"`
)

// The guard's descriptors. Its standard input is its order, in JSON.
const (
	guardLifeline = 3
	guardMaster   = 4
	guardLock     = 5
	guardPipe     = 6 // where the system has an intake with a pipe
)

// restartGuard is the time between two attempts to start a guard, when one ends early.
const restartGuard = time.Second

// guardOrder is what a guard must know.
type guardOrder struct {
	Arm string `json:"arm"`
	Dir string `json:"dir"`
	// Nonce is that of the start. It is "" from a holder that does not send it; then any
	// start counts.
	Nonce string `json:"nonce,omitempty"`
}

// guard is the holder's end of its guard.
type guard struct {
	process  *os.Process
	lifeline *os.File
}

// keepGuard starts a guard, and another one whenever it ends, until the arm ends. It
// returns once the first one has started.
func (s *server) keepGuard() error {
	if len(s.launch.Self) == 0 {
		return nil
	}
	if err := s.startGuard(); err != nil {
		return err
	}
	go s.renewGuard()
	return nil
}

func (s *server) renewGuard() {
	for {
		s.guardMu.Lock()
		g := s.guard
		s.guardMu.Unlock()
		if g != nil {
			_, _ = g.process.Wait()
		}
		select {
		case <-s.guardDismissed:
			close(s.guardsGone)
			return
		default:
		}
		if err := s.startGuard(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		select {
		case <-s.guardDismissed:
		case <-time.After(restartGuard):
		}
	}
}

// startGuard starts a guard with copies of the descriptors that it must keep.
func (s *server) startGuard() error {
	s.guardMu.Lock()
	defer s.guardMu.Unlock()
	select {
	case <-s.guardDismissed:
		return nil
	default:
	}
	if s.guard != nil {
		s.guard.lifeline.Close()
		s.guard = nil
	}
	g, err := s.newGuard()
	if err != nil {
		return fmt.Errorf("start the holder's guard: %w", err)
	}
	s.guard = g
	return nil
}

func (s *server) newGuard() (*guard, error) {
	order, err := guardInput(guardOrder{Arm: s.launch.Arm, Dir: s.launch.Dir, Nonce: s.launch.Nonce})
	if err != nil {
		return nil, err
	}
	defer order.Close()
	guardEnd, holderEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer guardEnd.Close()
	var pid int
	var failed error
	err = s.term.Control(func(master int) {
		files := []uintptr{order.Fd(), 2, 2, guardEnd.Fd(), uintptr(master), s.lock.Fd()}
		if pipe := s.intake.keptPipe(); pipe >= 0 {
			files = append(files, uintptr(pipe))
		}
		pid, failed = forkGuard(s.launch.Self, files)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		holderEnd.Close()
		return nil, err
	}
	process, err := os.FindProcess(pid)
	return &guard{process: process, lifeline: holderEnd}, err
}

// forkGuard runs command as a guard: through the shell, or directly where there is no
// shell.
func forkGuard(command []string, files []uintptr) (int, error) {
	attr := &syscall.ProcAttr{Dir: "/", Env: ownEnv(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	command = append(append([]string{}, command...), "guard")
	argv := append([]string{"sh", "-c", guardScript, "coleo hold"}, command...)
	pid, err := syscall.ForkExec(shell, argv, attr)
	if err != nil {
		pid, err = syscall.ForkExec(command[0], command, attr)
	}
	return pid, err
}

// ownEnv returns the environment of holder and guard. It holds nothing of the arm's:
// otherwise a sweep would take the guard for one of the arm's processes. One thread for
// Go code is enough for processes that wait and pass data on, and saves a fifth of the
// memory.
func ownEnv() []string { return []string{"GOTRACEBACK=all", "GOMAXPROCS=1"} }

// guardInput returns a pipe from which the order can be read.
func guardInput(o guardOrder) (*os.File, error) {
	raw, err := json.Marshal(launchDocument{Guard: &o})
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if _, err := w.Write(raw); err != nil { // far smaller than a pipe
		r.Close()
		return nil, err
	}
	return r, nil
}

// dismissGuard tells the guard that the arm has ended in order, and returns when the
// guard has gone.
func (s *server) dismissGuard() {
	s.guardMu.Lock()
	close(s.guardDismissed)
	g := s.guard
	s.guardMu.Unlock()
	if g == nil {
		return
	}
	_, _ = g.lifeline.Write([]byte("\n"))
	g.lifeline.Close()
	<-s.guardsGone
}

// guardPid returns the guard's process id, 0 when there is none.
func (s *server) guardPid() int {
	s.guardMu.Lock()
	defer s.guardMu.Unlock()
	if s.guard == nil {
		return 0
	}
	return s.guard.process.Pid
}
