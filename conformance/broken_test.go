package conformance

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/pty"
	"coleo.dev/waitfor"
)

// live contains everything that a session of the fake agent CLI can do.
type live interface {
	coleo.Session
	coleo.Terminal
	coleo.Compactor
	coleo.UsageMeter
	coleo.ModeSwitcher
}

// breaks replaces a correct session by one with a fault.
type breaks func(live) live

// brokenHarness returns sessions with a fault.
type brokenHarness struct {
	coleo.Harness
	breaks breaks
	anew   bool // Attach ends the existing session and starts another one

	mu     sync.Mutex
	last   coleo.SpawnConfig
	opened []coleo.Handle
}

// resume continues holders that a fault has stopped, so that they end all remaining processes.
func (h *brokenHarness) resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range h.opened {
		if process.Same(handle.Holder) {
			_ = syscall.Kill(handle.Holder.PID, syscall.SIGCONT)
		}
	}
}

func (h *brokenHarness) Spawn(ctx context.Context, c coleo.SpawnConfig) (coleo.Session, error) {
	h.mu.Lock()
	h.last = c
	h.mu.Unlock()
	return h.open(h.Harness.Spawn(ctx, c))
}

func (h *brokenHarness) Attach(ctx context.Context, handle coleo.Handle) (coleo.Session, error) {
	s, err := h.Harness.Attach(ctx, handle)
	if err != nil || !h.anew {
		return h.open(s, err)
	}
	if err := s.Kill(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	c := h.last
	h.mu.Unlock()
	c.Generation, c.Dir = c.Generation+1, c.Dir+"-anew"
	return h.open(h.Harness.Spawn(ctx, c))
}

func (h *brokenHarness) open(s coleo.Session, err error) (coleo.Session, error) {
	if err != nil || h.breaks == nil {
		return s, err
	}
	h.mu.Lock()
	h.opened = append(h.opened, s.Handle())
	h.mu.Unlock()
	return h.breaks(s.(live)), nil
}

// unswitched reports that it has switched the mode, but has not.
type unswitched struct{ live }

func (s unswitched) SwitchMode(_ context.Context, id string) (coleo.ModeSwitch, error) {
	return coleo.ModeSwitch{From: s.live.State().Mode, To: id, Pressed: []string{"SHIFT_TAB"}, Seen: []string{id}}, nil
}

// misread replaces each reading by another one.
type misread struct {
	live
	as func(coleo.Reading) coleo.Reading
}

func (s misread) State() coleo.Reading { return s.as(s.live.State()) }

func (s misread) Changes(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return func(yield func(coleo.Change, error) bool) {
		for change, err := range s.live.Changes(ctx, from) {
			change.Reading = s.as(change.Reading)
			if !yield(change, err) {
				return
			}
		}
	}
}

// reads replaces each of the given states by the state `as` in the reports of a session.
func reads(as coleo.State, states ...coleo.State) breaks {
	return func(s live) live {
		return misread{s, func(r coleo.Reading) coleo.Reading {
			for _, state := range states {
				if r.State == state {
					r.State = as
				}
			}
			return r
		}}
	}
}

// untold hides each change of a session that shows that the agent CLI works.
type untold struct{ live }

func (s untold) Changes(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return func(yield func(coleo.Change, error) bool) {
		for change, err := range s.live.Changes(ctx, from) {
			if !change.Reading.State.Working() && !yield(change, err) {
				return
			}
		}
	}
}

// unsent omits the input tokens from the usage.
type unsent struct{ live }

func (s unsent) Usage(ctx context.Context) (coleo.Usage, error) {
	u, err := s.live.Usage(ctx)
	u.Input = 0
	return u, err
}

// guesses declares the usage approximate, but is wrong by more than approximate counts may be.
type guesses struct{ live }

func (s guesses) Usage(ctx context.Context) (coleo.Usage, error) {
	u, err := s.live.Usage(ctx)
	u.Input, u.Approximate = u.Input*2, true
	return u, err
}

// sends uses the function `how` to deliver prompts.
type sends struct {
	live
	how func(ctx context.Context, s live, p coleo.Prompt) (coleo.Receipt, error)
}

func (s sends) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	return s.how(ctx, s.live, p)
}

func delivers(how func(context.Context, live, coleo.Prompt) (coleo.Receipt, error)) breaks {
	return func(s live) live { return sends{s, how} }
}

// rewrites changes the text of prompts.
func rewrites(change func(string) string) breaks {
	return delivers(func(ctx context.Context, s live, p coleo.Prompt) (coleo.Receipt, error) {
		p.Text = change(p.Text)
		return s.SendPrompt(ctx, p)
	})
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// typed types a prompt into the terminal, whatever the terminal shows.
func typed(ctx context.Context, s live, p coleo.Prompt, keys string) (coleo.Receipt, error) {
	r := coleo.Receipt{Text: p.Text, Proof: coleo.ProofStarted, Cursor: waitfor.NewestCursor(s)}
	err := s.Input(ctx, pty.Paste(p.Text, true))
	if err == nil && keys != "" {
		err = s.Input(ctx, []byte(keys))
	}
	return r, err
}

// typesBlindly types prompts even while a dialog is open.
func typesBlindly(ctx context.Context, s live, p coleo.Prompt) (coleo.Receipt, error) {
	if s.State().State == coleo.WaitingApproval {
		return typed(ctx, s, p, "\r")
	}
	return s.SendPrompt(ctx, p)
}

// refusesTooLate refuses a prompt while a dialog is open, but only after it has typed the prompt.
func refusesTooLate(ctx context.Context, s live, p coleo.Prompt) (coleo.Receipt, error) {
	if r := s.State(); r.State == coleo.WaitingApproval {
		_, _ = typed(ctx, s, p, "\r")
		return coleo.Receipt{}, coleo.Blocked(r.Dialog)
	}
	return s.SendPrompt(ctx, p)
}

func losesEnter(ctx context.Context, s live, p coleo.Prompt) (coleo.Receipt, error) {
	return typed(ctx, s, p, "")
}

// sendsTwice sends each prompt a second time.
func sendsTwice(ctx context.Context, s live, p coleo.Prompt) (coleo.Receipt, error) {
	r, err := s.SendPrompt(ctx, p)
	if err == nil {
		_, err = s.SendPrompt(ctx, p)
	}
	return r, err
}

// decides uses a given function to answer dialogs.
type decides struct {
	live
	how func(ctx context.Context, s live, f coleo.Fingerprint, d coleo.Decision) error
}

func (s decides) Respond(ctx context.Context, f coleo.Fingerprint, d coleo.Decision) error {
	return s.how(ctx, s.live, f, d)
}

func answers(how func(context.Context, live, coleo.Fingerprint, coleo.Decision) error) breaks {
	return func(s live) live { return decides{s, how} }
}

// whateverIsOpen answers the dialog that is open now, even if the answer was meant for another dialog.
func whateverIsOpen(ctx context.Context, s live, f coleo.Fingerprint, d coleo.Decision) error {
	if open := s.State().Dialog; open != nil {
		f = open.Fingerprint
	}
	return s.Respond(ctx, f, d)
}

// staleTooLate approves the open dialog and then reports that the dialog is gone.
func staleTooLate(ctx context.Context, s live, f coleo.Fingerprint, d coleo.Decision) error {
	open := s.State().Dialog
	if open == nil || open.Fingerprint == f {
		return s.Respond(ctx, f, d)
	}
	_ = s.Respond(ctx, open.Fingerprint, d)
	return coleo.Errorf(coleo.EStale, "that dialog is no longer on the screen")
}

// neverStale accepts an answer that comes too late.
func neverStale(ctx context.Context, s live, f coleo.Fingerprint, d coleo.Decision) error {
	if err := s.Respond(ctx, f, d); coleo.ErrorCode(err) != coleo.EStale || s.State().Dialog != nil {
		return err
	}
	return nil
}

// approvesForEver turns each approval into a permanent one.
func approvesForEver(ctx context.Context, s live, f coleo.Fingerprint, d coleo.Decision) error {
	if d.Choice == coleo.ChoiceApprove {
		d.Choice = coleo.ChoiceApproveAlways
	}
	return s.Respond(ctx, f, d)
}

func deniesNothing(ctx context.Context, s live, f coleo.Fingerprint, d coleo.Decision) error {
	if d.Choice == coleo.ChoiceDeny {
		d.Choice = coleo.ChoiceApprove
	}
	return s.Respond(ctx, f, d)
}

func picksTheFirst(ctx context.Context, s live, f coleo.Fingerprint, d coleo.Decision) error {
	d.Option = min(d.Option, 1)
	return s.Respond(ctx, f, d)
}

// lags returns the answer to the previous prompt in place of the requested answer.
type lags struct {
	live
	mu   sync.Mutex
	last *coleo.Answer
}

func (s *lags) Answer(ctx context.Context, r coleo.Receipt) (coleo.Answer, error) {
	a, err := s.live.Answer(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last
	s.last = &a
	if last != nil {
		return *last, err
	}
	return a, err
}

// curt returns only the first line of an answer.
type curt struct{ live }

func (s curt) Answer(ctx context.Context, r coleo.Receipt) (coleo.Answer, error) {
	a, err := s.live.Answer(ctx, r)
	a.Text = firstLine(a.Text)
	return a, err
}

// echoing takes the answer from the prompt: it returns "one" for the prompt "say one".
type echoing struct{ live }

func (s echoing) Answer(_ context.Context, r coleo.Receipt) (coleo.Answer, error) {
	return coleo.Answer{Text: strings.TrimPrefix(r.Text, "say "), Source: "screen"}, nil
}

// uninterrupted claims that it has stopped a turn that continues.
type uninterrupted struct{ live }

func (uninterrupted) Interrupt(context.Context) (coleo.Interruption, error) {
	return coleo.Interruption{Was: coleo.Processing, Pressed: []string{"ESCAPE"}, State: coleo.Idle}, nil
}

// uncompacted claims that it has shortened a conversation.
type uncompacted struct{ live }

func (uncompacted) Compact(context.Context) (coleo.Receipt, error) {
	return coleo.Receipt{Compact: true}, nil
}

// shallow ends only the agent CLI, and leaves the other processes of the arm behind. To do so, it stops the
// holder, which would end them. A second call of Kill works correctly, so that the test leaves no processes.
type shallow struct {
	live
	once sync.Once
}

func (s *shallow) Kill(ctx context.Context) error {
	h, first := s.Handle(), false
	s.once.Do(func() {
		first = true
		_ = syscall.Kill(h.Holder.PID, syscall.SIGSTOP)
		pollUntil(ctx, func() bool { return stopped(h.Holder.PID) })
		_ = syscall.Kill(h.Process.PID, syscall.SIGKILL)
		pollUntil(ctx, func() bool { return !process.Same(h.Process) })
	})
	if first {
		return nil
	}
	_ = syscall.Kill(h.Holder.PID, syscall.SIGCONT)
	endNoted(h.Workdir)
	return s.live.Kill(ctx)
}

// pollUntil calls the function `is` again and again, until it returns true or ctx ends.
func pollUntil(ctx context.Context, is func() bool) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() && ctx.Err() == nil {
		<-tick.C
	}
}

// stopped reports whether every thread of a process has stopped.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, stat := range threads {
		raw, _ := os.ReadFile(stat)
		if _, state, _ := strings.Cut(string(raw), ") "); !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// endNoted ends the commands that have written their process ids to files in a folder. It does not
// end another process that has received such an id meanwhile.
func endNoted(dir string) {
	notes, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
	for _, note := range notes {
		raw, _ := os.ReadFile(note)
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil && cwd == dir {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
