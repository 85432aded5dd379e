package holder

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
)

// A guard is a second process beside the holder. It holds what must survive the death of the
// holder: the master of the pseudo-terminal, the pipe for output, and the folder's lock.
//
// The guard sleeps while the lifeline, a pipe from the holder, is open. If a line comes through the
// lifeline, the arm has ended in an orderly way, and the guard ends too. If the lifeline breaks,
// the holder has died. The guard then runs a program that ends the arm's process tree and journals
// the last output: see guard.go.
//
// A sleeping guard is a shell that waits in its read command. A shell is the smallest process that
// every system has.

const (
	shell = "/bin/sh"
	// guardScript ends if a line comes through the lifeline. It runs its arguments if the lifeline
	// breaks. The script and the program that it runs ignore HUP, INT and TERM.
	guardScript = `trap '' HUP INT TERM; read x <&3 && exit 0; exec "$@"`
)

// These are the file descriptors of the guard. The guard reads its guardOrder, in JSON, from
// standard input.
const (
	guardLifeline = 3
	guardMaster   = 4
	guardLock     = 5
	guardPipe     = 6 // the intake's pipe, which holds output that is not in the journal yet; Linux only
)

// restartGuard is the pause before a new guard starts after one has ended early. Without the pause,
// a guard that always fails would use a whole processor.
const restartGuard = time.Second

// guardOrder says which start of an arm a guard must guard.
type guardOrder struct {
	Arm string `json:"arm"`
	Dir string `json:"dir"`
	// Nonce is the nonce of the arm's start. If it is "", the guard guards every start of the arm,
	// because a holder of an old version sends no nonce.
	Nonce string `json:"nonce,omitempty"`
	// After and Mark are copies of Launch.After and of the result of Launch.mark.
	After []string `json:"after,omitempty"`
	Mark  string   `json:"mark,omitempty"`
}

// guard is what a holder knows about its guard.
type guard struct {
	process  *os.Process
	lifeline *os.File
}

// keepGuard starts a guard and returns. In the background, it replaces each guard that ends before
// the arm.
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

// startGuard starts a guard, and passes it copies of the descriptors that it must hold.
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
	order, err := guardInput(guardOrder{Arm: s.launch.Arm, Dir: s.launch.Dir, Nonce: s.launch.Nonce,
		After: s.launch.After, Mark: s.launch.mark()})
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

// forkGuard starts a guard: a shell that waits for the death of the holder and then runs the given
// command. If the system has no shell, forkGuard runs the command at once, and the command itself
// waits. The given files become the descriptors of the guard.
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

// ownEnv returns the environment of the holder and of the guard. It contains no variable of the
// arm. Otherwise a search for the arm's processes would find the guard, too. GOMAXPROCS=1 saves a
// fifth of the memory of these two processes, and one thread is enough for their Go code.
func ownEnv() []string { return []string{"GOTRACEBACK=all", "GOMAXPROCS=1"} }

// guardInput returns a pipe that holds the guard's order in JSON.
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
	if _, err := w.Write(raw); err != nil { // does not block, because the order is far smaller than a pipe's buffer
		r.Close()
		return nil, err
	}
	return r, nil
}

// dismissGuard reports to the guard that the arm has ended in an orderly way, and waits until the
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
