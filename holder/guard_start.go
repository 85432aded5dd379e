package holder

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
)

// A guard is a second process. It holds what must not be lost if the holder dies: the
// master of the pseudo-terminal, the pipe for output, and the folder's lock. It sleeps
// until its lifeline breaks. It ends if a line on the lifeline tells it that the arm
// has ended in order. When the lifeline breaks, the guard becomes a program that ends
// the arm's process tree and journals the output that is still on its way: see
// guard.go. While the guard sleeps, it is a shell that waits in a read. That is the
// smallest process that every system has.

const (
	shell = "/bin/sh"
	// guardScript ends when a line comes. It runs its arguments when the lifeline
	// breaks. Signals that the shell ignores stay ignored in the program that it runs.
	guardScript = `trap '' HUP INT TERM; read x <&3 && exit 0; exec "$@"`
)

// File descriptors of the guard. The standard input of the guard is its order, in JSON.
const (
	guardLifeline = 3
	guardMaster   = 4
	guardLock     = 5
	guardPipe     = 6 // on systems whose intake has a pipe
)

// restartGuard is the time between two attempts to start a guard, if a guard ends
// early.
const restartGuard = time.Second

// guardOrder is what a guard needs to know.
type guardOrder struct {
	Arm string `json:"arm"`
	Dir string `json:"dir"`
	// Nonce is the nonce of the start. It is "" if the holder's version does not send
	// it. Then any start counts.
	Nonce string `json:"nonce,omitempty"`
}

// guard is what the holder knows about its guard.
type guard struct {
	process  *os.Process
	lifeline *os.File
}

// keepGuard starts a guard. If the guard ends before the arm, it starts another one. It
// returns when the first guard has started.
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

// startGuard starts a guard with copies of the descriptors that the guard must hold.
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

// forkGuard runs command as a guard. It runs the command through the shell, or directly
// if there is no shell.
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

// ownEnv returns the environment of the holder and of the guard. It has no variable of
// the arm. Otherwise a sweep would take the guard for one of the arm's processes. These
// processes only wait and pass data on, so one thread for Go code is enough. It saves a
// fifth of the memory.
func ownEnv() []string { return []string{"GOTRACEBACK=all", "GOMAXPROCS=1"} }

// guardInput returns a pipe from which the guard can read its order.
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
	if _, err := w.Write(raw); err != nil { // the order is far smaller than a pipe
		r.Close()
		return nil, err
	}
	return r, nil
}

// dismissGuard tells the guard that the arm has ended in order. It returns when the
// guard has ended.
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

// guardPid returns the guard's process id, or 0 if there is no guard.
func (s *server) guardPid() int {
	s.guardMu.Lock()
	defer s.guardMu.Unlock()
	if s.guard == nil {
		return 0
	}
	return s.guard.process.Pid
}
