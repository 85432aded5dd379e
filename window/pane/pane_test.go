package pane

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/pty/device"
)

// Under other names and arguments, the test binary also plays two other programs: the program in a
// window, and the terminal program kitty. Coleo starts kitty with --detach. Then the first process
// of kitty starts a second one and ends at once.
const (
	asTerminal = "kitty"
	asWindow   = "in-background" // the second process of kitty, which stays and holds the terminal
)

func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == asTerminal:
		playTerminal(os.Args[1:])
	case len(os.Args) == 3 && os.Args[1] == Verb:
		if err := Run(os.Args[2], os.Environ()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// playTerminal plays kitty. With --detach it starts itself once more, and ends. The second process
// runs the program of its arguments in a terminal, and writes its own pid into the file that
// TERMINAL_PID names. On SIGTERM it closes the terminal.
func playTerminal(args []string) {
	if args[0] != asWindow { // --detach --title TITLE --directory FOLDER PROGRAM...
		cmd := exec.Command(os.Args[0], append([]string{asWindow}, args[5:]...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGTERM)
	term, err := device.Start(device.Command{Path: args[1], Args: args[2:], Env: os.Environ()})
	if err != nil {
		os.Exit(1)
	}
	go func() {
		for buf := make([]byte, 4096); ; {
			if _, err := term.Read(buf); err != nil {
				return
			}
		}
	}()
	if err := os.WriteFile(os.Getenv("TERMINAL_PID"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		os.Exit(1)
	}
	go func() {
		_, _ = term.Wait()
		os.Exit(0)
	}()
	<-closed
	_ = term.Close()
	time.Sleep(time.Minute) // until the program has ended
}

// stage is an arm with a window.
type stage struct {
	t     *testing.T
	dir   string
	arm   *exec.Cmd // the arm's process
	shown *Shown
	told  chan coleo.Window
}

func newStage(t *testing.T) *stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, dir: t.TempDir(), arm: exec.Command("sleep", "600"), told: make(chan coleo.Window, 100)}
	if err := os.Symlink(self, filepath.Join(s.dir, asTerminal)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", s.dir+":"+os.Getenv("PATH"))
	t.Setenv("RANDOM_TOKEN", "leaked")
	if err := s.arm.Start(); err != nil {
		t.Fatal(err)
	}
	s.shown = s.newShown()
	t.Cleanup(func() {
		s.endArm()
		s.shown.Close()
		s.shown.End()
		if r, err := Read(s.dir); err != nil || r != nil && process.Look(r.Process) != process.Dead {
			t.Errorf("after the end of the arm something runs in its window: %+v, %v", r, err)
		}
	})
	return s
}

func (s *stage) newShown() *Shown {
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	return NewShown(s.dir, []string{self, Verb}, "The program", func(w coleo.Window) { s.told <- w })
}

func (s *stage) endArm() {
	if s.arm.ProcessState == nil {
		_ = s.arm.Process.Kill()
		_ = s.arm.Wait()
	}
}

// open opens a window in which a shell runs a script.
func (s *stage) open(script string) error {
	arm, err := process.Identify(s.arm.Process.Pid)
	if err != nil {
		return err
	}
	w, err := s.shown.Begin(coleo.WindowPlace{Terminal: asTerminal, Name: "one"}, s.dir)
	if err != nil {
		return err
	}
	return s.shown.Finish(s.t.Context(), w, append(os.Environ(), "TERMINAL_PID="+s.path("terminal")),
		Order{Argv: []string{"sh", "-c", "echo $$ >shell.new; mv shell.new shell; env >env; " + script},
			Env: []string{"PATH=" + os.Getenv("PATH"), "SECRET=mine"}, Workdir: s.dir, Arm: arm})
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// tells waits until Shown has reported the given state of the window.
func (s *stage) tells(want coleo.WindowState) coleo.Window {
	s.t.Helper()
	for limit := time.After(time.Minute); ; {
		select {
		case w := <-s.told:
			if w.State == want {
				return w
			}
		case <-limit:
			s.t.Fatalf("the window is not told to be %s; it is %+v", want, s.shown.Window())
		}
	}
}

// pid waits until a file contains a pid, and returns the pid.
func (s *stage) pid(file string) int {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		raw, _ := os.ReadFile(s.path(file))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
			return pid
		}
	}
	s.t.Fatalf("%s never had a pid", file)
	return 0
}

func (s *stage) kill(file string, sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.pid(file), sig); err != nil {
		s.t.Fatal(err)
	}
}

const stays = "sleep 600 & wait"

func TestHowAWindowEndsIsTold(t *testing.T) {
	for _, tt := range []struct {
		what, script string
		end          func(s *stage)
		state        coleo.WindowState
		reason       string
	}{
		{"its user closes it", stays, func(s *stage) { s.kill("terminal", syscall.SIGTERM) }, coleo.WindowClosed,
			"its user has closed it"},
		{"its user closes it, and the program ends late", "trap '' HUP TERM; " + stays,
			func(s *stage) { s.kill("terminal", syscall.SIGTERM) }, coleo.WindowClosed, "its user has closed it"},
		{"its user closes it, and the program fails at that", "trap 'exit 3' HUP; " + stays,
			func(s *stage) { s.kill("terminal", syscall.SIGTERM) }, coleo.WindowClosed, "its user has closed it"},
		{"its user leaves the program", "exit 0", nil, coleo.WindowClosed, "its user has left The program"},
		{"the program fails", "exit 3", nil, coleo.WindowFailed, "The program has ended in it: exit status 3"},
		{"the program is killed", stays, func(s *stage) { s.kill("shell", syscall.SIGKILL) }, coleo.WindowFailed,
			"The program has ended in it: signal: killed"},
		{"the arm ends", stays, (*stage).endArm, coleo.WindowClosed, "the arm has ended"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s := newStage(t)
			if err := s.open(tt.script); err != nil {
				t.Fatal(err)
			}
			if w := s.tells(coleo.WindowOpen); w.Terminal != asTerminal || w.Title != "coleo:one" {
				t.Errorf("the window is told as %+v", w)
			}
			s.pid("shell")
			if tt.end != nil {
				tt.end(s)
			}
			if w := s.tells(tt.state); w.Reason != tt.reason {
				t.Errorf("what is told is %q, want %q", w.Reason, tt.reason)
			}
		})
	}
}

// The test kills Run, the program that runs in the window and records the window's end. The window
// must be reported as failed, not as closed, because its user has not closed it.
func TestAKillInTheWindowIsNoClosedWindow(t *testing.T) {
	s := newStage(t)
	if err := s.open(stays); err != nil {
		t.Fatal(err)
	}
	s.pid("shell")
	r, err := Read(s.dir)
	if err != nil || r == nil {
		t.Fatalf("the record is %+v, %v", r, err)
	}
	process.Signal(r.Process, syscall.SIGKILL)
	if w := s.tells(coleo.WindowFailed); w.Reason != fmt.Sprintf("the program in it, process %d, was killed",
		r.Process.PID) {
		t.Errorf("what is told is %q", w.Reason)
	}
	s.kill("shell", syscall.SIGKILL)
}

func TestTheNextSessionFindsTheWindow(t *testing.T) {
	s := newStage(t)
	s.shown.Resume()
	if w := s.shown.Window(); w.State != "" {
		t.Errorf("without a window: %+v", w)
	}
	if err := s.open(stays); err != nil {
		t.Fatal(err)
	}
	shell := s.pid("shell")
	s.tells(coleo.WindowOpen)
	s.shown.Close()
	s.shown = s.newShown()
	s.shown.Resume()
	s.tells(coleo.WindowOpen)
	if err := s.open(stays); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a second window: %v, want %s", err, coleo.EConflict)
	}
	if now := s.pid("shell"); now != shell {
		t.Errorf("the program in the window is %d now, want %d", now, shell)
	}
	s.shown.Close()
	s.kill("terminal", syscall.SIGTERM)
	r, err := Read(s.dir)
	for ; err == nil && r.Ended.IsZero(); r, err = Read(s.dir) {
		time.Sleep(5 * time.Millisecond)
	}
	s.shown = s.newShown()
	s.shown.Resume() // nothing watched the window when it was closed
	if w := s.tells(coleo.WindowClosed); w.Reason != "its user has closed it" {
		t.Errorf("what is told is %q", w.Reason)
	}
	_ = os.Remove(s.path("shell"))
	if err := s.open(stays); err != nil {
		t.Errorf("open it again: %v", err)
	}
	s.pid("shell")
}

// The code that drives the arm can end after it has started the terminal program, but before the
// program in the window runs. Its successor must find the window that is about to open.
func TestAWindowThatIsJustBeingOpenedIsFound(t *testing.T) {
	s := newStage(t)
	arm, err := process.Identify(s.arm.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeOrder(s.dir, Order{ID: "one", Terminal: asTerminal, Title: "coleo:one", Argv: []string{"sleep", "600"},
		Workdir: s.dir, Arm: arm}); err != nil {
		t.Fatal(err)
	}
	s.shown.Resume()
	if w := s.tells(coleo.WindowOpening); w.Title != "coleo:one" {
		t.Errorf("the window is told as %+v", w)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	term, err := device.Start(device.Command{Path: self, Args: []string{Verb, s.dir}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	s.tells(coleo.WindowOpen)
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	s.tells(coleo.WindowClosed)
	_, _ = term.Wait()
}

func TestAWindowHasNoSecretsOfOthers(t *testing.T) {
	s := newStage(t)
	if err := s.open(stays); err != nil {
		t.Fatal(err)
	}
	s.pid("shell")
	var env string
	for deadline := time.Now().Add(time.Minute); !strings.Contains(env, "SECRET=") && time.Now().Before(deadline); {
		raw, _ := os.ReadFile(s.path("env"))
		env = string(raw)
	}
	if !strings.Contains(env, "SECRET=mine") || !strings.Contains(env, "TERM=") || strings.Contains(env, "RANDOM_TOKEN") {
		t.Errorf("the program in the window has the variables\n%s", env)
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, _ := os.ReadFile(s.path(f.Name()))
		if f.Name() != "env" && f.Name() != asTerminal && strings.Contains(string(raw), "SECRET=mine") {
			t.Errorf("%s still has the program's variables", f.Name())
		}
	}
	r, err := Read(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", r.Process.PID))
	if err == nil && strings.Contains(string(argv), "mine") {
		t.Errorf("the command line in the window is %q", argv)
	}
}

func TestWhatCannotBeOpenedIsRefused(t *testing.T) {
	s := newStage(t)
	if err := Run(s.dir, nil); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a window without an order: %v, want %s", err, coleo.ENotFound)
	}
	if _, err := s.shown.Begin(coleo.WindowPlace{Terminal: "xterm"}, s.dir); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("an unknown terminal: %v, want %s", err, coleo.EInvalid)
	}
	if err := os.Remove(s.path(asTerminal)); err != nil {
		t.Fatal(err)
	}
	fails := "#!/bin/sh\necho cannot open display >&2\nexit 1\n"
	if err := os.WriteFile(s.path(asTerminal), []byte(fails), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.open(stays); coleo.ErrorCode(err) != coleo.EInternal || !strings.Contains(err.Error(),
		"cannot open display") {
		t.Errorf("a terminal that fails: %v", err)
	}
	if w := s.tells(coleo.WindowFailed); !strings.Contains(w.Reason, "cannot open display") {
		t.Errorf("what is told is %q", w.Reason)
	}
	if waitingOrder(s.dir) != nil {
		t.Error("the order for the window is still there")
	}
}
