package pane

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/window"
)

const (
	// openTimeout limits the wait for the program in a new window. On a loaded machine, a terminal
	// program took 5 s.
	openTimeout = 30 * time.Second
	// openEvery is the time between two checks of whether the program in a new window runs.
	openEvery = 20 * time.Millisecond
	// watchEvery is the time between two checks of an open window. If the user closes a window, Shown reports
	// the end of the window within a second.
	watchEvery = 200 * time.Millisecond
	// endTimeout limits the wait for the window of an ended arm to close by itself. After this
	// time, End sends TERM to the process in the window.
	endTimeout = armEvery + programGrace + time.Second
	// termTimeout is the time between TERM and KILL for the process in a window whose arm has
	// ended.
	termTimeout = programGrace + time.Second
)

// Shown represents the window of one session.
type Shown struct {
	dir     string
	program []string
	title   string // the name of the agent CLI for users
	tell    func(coleo.Window)

	ctx    context.Context // canceled by Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu  sync.Mutex
	now coleo.Window
}

// NewShown returns the Shown of the session in the arm's folder `dir`. No window is open yet. The program in
// the window will be windowCommand, with this folder as its last argument. `title` is the name of the agent
// CLI. Shown passes each new state of the window to the function `tell`. The calls of `tell` never overlap.
func NewShown(dir string, windowCommand []string, title string, tell func(coleo.Window)) *Shown {
	s := &Shown{dir: dir, program: windowCommand, title: title, tell: tell}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Window returns the present state of the window.
func (s *Shown) Window() coleo.Window {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// set sets and reports a new state. The caller holds mu.
func (s *Shown) set(state coleo.WindowState, terminal, title, reason string) {
	s.now = coleo.Window{State: state, Terminal: terminal, Title: title, Reason: reason, Since: time.Now().UTC()}
	s.tell(s.now)
}

func (s *Shown) changeState(state coleo.WindowState, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(state, s.now.Terminal, s.now.Title, reason)
}

// Finish opens the window w, which Begin has returned. It returns when the program in the window runs. The
// caller sets only the fields Argv, Env, Workdir and Arm of the Order. The terminal program runs with the
// environment variables `environ`. Finish returns the errors of window.Open. It returns EInternal if no program
// runs in the window.
func (s *Shown) Finish(ctx context.Context, w window.Window, environ []string, o Order) error {
	o.ID, o.Terminal, o.Title = rand.Text(), string(w.Terminal), window.Title(w.Name)
	if err := writeOrder(s.dir, o); err != nil {
		s.Fail(err.Error())
		return err
	}
	err := window.Open(ctx, w, environ)
	var r *Record
	if err == nil {
		r, err = s.awaitOpen(ctx, o.ID)
	}
	return s.finishOpening(o.ID, r, err)
}

// finishOpening notes that the window with this id is open, or that it cannot be opened because of the given error. It
// returns the error, or nil if the window is open. After an error, finishOpening first withdraws the order. If the
// program in the window has already taken the order, finishOpening waits for that program. Once the program runs, the
// window counts as open.
func (s *Shown) finishOpening(id string, r *Record, err error) error {
	if err != nil && s.ctx.Err() == nil && !withdraw(s.dir) {
		if late, wrong := s.awaitOpen(s.ctx, id); wrong == nil {
			r, err = late, nil
		}
	}
	if err != nil {
		s.Fail(err.Error()) // if Shown was released, the next session takes over the order and the window
		return err
	}
	s.onOpened(r)
	return nil
}

// Begin notes that a window is about to open. It returns a description of the window for Finish. The program in
// the window will run in the folder `workdir`. Begin returns EConflict if a window is already open, and EBusy
// if a window is about to open. It also returns the errors of window.Check.
func (s *Shown) Begin(p coleo.WindowPlace, workdir string) (window.Window, error) {
	w := Described(p, workdir, append(slices.Clone(s.program), s.dir))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.now.State {
	case coleo.WindowOpen:
		return w, coleo.Errorf(coleo.EConflict, "no window was opened: %s is open in %s", s.now.Title, s.now.Terminal)
	case coleo.WindowOpening:
		return w, coleo.Errorf(coleo.EBusy, "no window was opened: %s is being opened in %s", s.now.Title, s.now.Terminal)
	case coleo.WindowClosed, coleo.WindowFailed:
	}
	if err := window.Check(w); err != nil {
		return w, err
	}
	s.set(coleo.WindowOpening, string(w.Terminal), window.Title(w.Name), "")
	return w, nil
}

// awaitOpen waits until the program runs in the window with this id. It returns the record of the
// window.
func (s *Shown) awaitOpen(ctx context.Context, id string) (*Record, error) {
	deadline := time.NewTimer(openTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(openEvery)
	defer tick.Stop()
	for {
		if r, err := Read(s.dir); err == nil && r != nil && r.ID == id {
			return r, nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return nil, coleo.Errorf(coleo.EInternal,
				"the terminal program reported no error, but nothing has run in the window for %s", openTimeout)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.ctx.Done():
			return nil, coleo.Errorf(coleo.EExited, "the session was closed before the window was open")
		}
	}
}

// onOpened notes that a window is open, and starts to follow it.
func (s *Shown) onOpened(r *Record) {
	s.mu.Lock()
	s.set(coleo.WindowOpen, r.Terminal, r.Title, "")
	s.mu.Unlock()
	s.work.Go(func() { s.watch(r) })
}

// Resume finds the window that an earlier process has opened or was about to open, and follows it.
// If there is no such window, the state of Window stays "".
func (s *Shown) Resume() {
	waiting := waitingOrder(s.dir) // first, because Run removes the order before it writes the record
	r, err := Read(s.dir)
	s.mu.Lock()
	switch {
	case waiting != nil:
		s.set(coleo.WindowOpening, waiting.Terminal, waiting.Title, "")
		s.work.Go(func() { s.resumeOpening(waiting.ID) })
	case err != nil:
		s.set(coleo.WindowFailed, "", "", err.Error())
	}
	s.mu.Unlock()
	if waiting == nil && r != nil {
		if state, reason, ended := s.judge(r); ended {
			s.mu.Lock()
			s.set(state, r.Terminal, r.Title, reason)
			s.mu.Unlock()
			return
		}
		s.onOpened(r)
	}
}

// Fail records that the window cannot be opened. Begin has recorded before that the window is about to open. `why` is
// the reason for users.
func (s *Shown) Fail(why string) {
	if s.ctx.Err() == nil {
		s.changeState(coleo.WindowFailed, why)
	}
}

// resumeOpening waits for the window that an earlier process was about to open.
func (s *Shown) resumeOpening(id string) {
	r, err := s.awaitOpen(s.ctx, id)
	_ = s.finishOpening(id, r, err)
}

// watch follows an open window until it has ended.
func (s *Shown) watch(r *Record) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if now, err := Read(s.dir); err == nil && now != nil && now.ID == r.ID {
			r = now
		}
		if state, reason, ended := s.judge(r); ended {
			s.changeState(state, reason)
			return
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// judge reports whether a window has ended, and returns its state and the reason.
func (s *Shown) judge(r *Record) (state coleo.WindowState, reason string, ended bool) {
	if r.Ended.IsZero() && process.LookQuickly(r.Process) == process.Dead {
		if last, err := Read(s.dir); err == nil && last != nil && last.ID == r.ID {
			r = last // Run may have recorded its end just before it ended
		}
		if r.Ended.IsZero() {
			return coleo.WindowFailed, fmt.Sprintf("the program in it, process %d, was killed", r.Process.PID), true
		}
	}
	if r.Ended.IsZero() {
		return "", "", false
	}
	switch r.How {
	case EndHangup:
		return coleo.WindowClosed, "its user has closed it", true
	case EndLeft:
		return coleo.WindowClosed, "its user has left " + s.title, true
	case EndArm, EndTold:
		return coleo.WindowClosed, "the arm has ended", true
	case EndCrashed:
	}
	return coleo.WindowFailed, s.title + " has ended in it: " + r.Detail, true
}

// End waits until no process runs in the window of an ended arm. First it waits for the window to
// close by itself, then it sends TERM, then KILL.
func (s *Shown) End() {
	withdraw(s.dir)
	for _, step := range []struct {
		signal syscall.Signal
		limit  time.Duration
	}{{0, endTimeout}, {syscall.SIGTERM, termTimeout}, {syscall.SIGKILL, termTimeout}} {
		r, err := Read(s.dir)
		if err != nil || r == nil || process.Look(r.Process) == process.Dead {
			return
		}
		if step.signal != 0 {
			process.Signal(r.Process, step.signal)
		}
		for deadline := time.Now().Add(step.limit); process.Look(r.Process) != process.Dead &&
			time.Now().Before(deadline); time.Sleep(process.PollEvery) {
		}
	}
}

// Release stops following the window and leaves it to the next session. The window may still be
// about to open.
func (s *Shown) Release() { s.cancel() }

// Close works like Release. It also waits until all goroutines of s have ended.
func (s *Shown) Close() {
	s.cancel()
	s.work.Wait()
}

// Described returns the description of a window at the given place. If the place names no terminal,
// the window is a tmux window.
func Described(p coleo.WindowPlace, workdir string, program []string) window.Window {
	terminal := window.Terminal(p.Terminal)
	if terminal == "" {
		terminal = window.Tmux
	}
	return window.Window{Terminal: terminal, Name: p.Name, Workdir: workdir, Program: program, Mac: onMac,
		Inside: p.Environ["TMUX"] != ""}
}

// onMac reports whether this is macOS.
const onMac = runtime.GOOS == "darwin"
