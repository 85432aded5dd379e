package arm

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/terminal"
	"coleo.dev/cmd/coleo/watch"
)

// watchPause is the shortest time between two requests for the screen. It limits the load on serve while
// an arm prints fast. A person does not notice this pause.
const watchPause = 100 * time.Millisecond

// sent is the outcome of sending one message.
type sent struct {
	text, note string
	failed     bool
}

// watcher shows one arm on the terminal until the arm ends or the user quits.
type watcher struct {
	client *apiclient.Client
	flags  watchFlags
	view   watch.View
	cursor string // cursor of the last event in the view

	changed chan struct{} // holds an element if the arm has changed since the last read; has room for one
	keys    chan []rune
	sent    chan sent  // the results of sending the user's messages
	ended   chan error // receives nil when the output ends, or an error if the output cannot be read
}

func watchView(c *cobra.Command, client *apiclient.Client, arm coleo.Arm, f watchFlags) error {
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	w := &watcher{client: client, flags: f, changed: make(chan struct{}, 1), keys: make(chan []rune),
		sent: make(chan sent), ended: make(chan error, 1),
		view: watch.View{Arm: arm, History: f.history, Full: f.full, Verbose: f.verbose}}
	if fd := int(os.Stdin.Fd()); term.IsTerminal(fd) {
		before, err := term.MakeRaw(fd)
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(fd, before) }()
		go w.readKeys(ctx)
	}
	if _, err := io.WriteString(os.Stdout, show.EnterScreen+show.MarkPastes); err != nil {
		return err
	}
	defer func() { _, _ = io.WriteString(os.Stdout, show.LeavePastes+show.LeaveScreen) }()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	go w.followOutput(ctx, arm.ID)
	go w.followEvents(ctx, arm.ID)
	return w.run(ctx, resized)
}

// run reads the arm again after each change, draws the view, and reads keys.
func (w *watcher) run(ctx context.Context, resized <-chan os.Signal) error {
	if err := w.read(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	pause := time.NewTimer(watchPause)
	defer pause.Stop()
	changed := (<-chan struct{})(nil) // nil during the pause, so that changes wait until the pause ends
	for {
		if err := w.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
			changed = w.changed
		case <-changed:
			if err := w.read(ctx); err != nil {
				return ignoreEnd(ctx, err)
			}
			changed = nil
			pause.Reset(watchPause)
		case err := <-w.ended:
			return ignoreEnd(ctx, err)
		case <-resized:
		case s := <-w.sent:
			if w.view.Note = s.note; s.failed && !w.view.Writing {
				w.view.Note, w.view.Draft = s.note+" (m opens the message again)", s.text
			}
		case keys := <-w.keys:
			action := w.view.Type(keys)
			switch {
			case action.Quit:
				return nil
			case action.Send != "":
				w.view.Note = "sending…"
				go w.send(ctx, w.view.Arm.ID, coleo.Prompt{Text: action.Send, Interrupt: w.view.Interrupt})
			case action.Refresh:
				if err := w.read(ctx); err != nil {
					return ignoreEnd(ctx, err)
				}
			}
		}
	}
}

// ignoreEnd returns nil if the verb or the arm has ended. Otherwise it returns err.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, errArmEnded) {
		return nil
	}
	return err
}

// errArmEnded means that the arm's agent CLI has ended.
var errArmEnded = errors.New("the agent CLI has ended")

// read updates the view. It returns errArmEnded if the agent CLI has ended.
func (w *watcher) read(ctx context.Context) error {
	arm, err := w.client.Arm(ctx, w.view.Arm.ID)
	if err != nil {
		return err
	}
	w.view.Arm = arm
	screen, err := w.client.Screen(ctx, arm.ID)
	switch coleo.ErrorCode(err) {
	case "":
		w.view.Screen = &screen
	case coleo.EUnsupported: // the arm is driven over HTTP, so it has no screen
	case coleo.EExited:
		return errArmEnded
	default:
		return err
	}
	if terminal.HasEnded(arm) != nil {
		return errArmEnded
	}
	steps, cursor, err := transcriptAfter(ctx, w.client, arm.ID, w.cursor)
	if err != nil {
		return err
	}
	w.cursor = cursor
	for _, s := range steps {
		if m, ok := w.message(s); ok {
			w.view.Messages = append(w.view.Messages, m)
		}
	}
	return nil
}

// message returns a step of the conversation in the form for the view. It returns false if the flags hide
// the step.
func (w *watcher) message(s conversationStep) (watch.Message, bool) {
	m := watch.Message{Who: s.Who, Time: s.Time, Text: s.Text}
	switch {
	case s.Who == "lost":
		m.Who = watch.System
	case s.Who == "agent" && s.Compact:
		m.Who, m.Text = watch.System, "the turn that shortens the conversation: "+string(s.Outcome)
	case s.Who == "agent" && s.Text == "":
		m.Who, m.Text = watch.System, "the turn has ended without an answer: "+string(s.Outcome)
	}
	hidden := w.flags.noTools && m.Who == watch.Decision || w.flags.noSystem && m.Who == watch.System
	return m, !hidden
}

func (w *watcher) draw() error {
	cols, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return err
	}
	var picture strings.Builder
	picture.WriteString(show.ScreenTop)
	for i, line := range w.view.Lines(cols, rows, time.Now()) {
		if i > 0 {
			picture.WriteString("\r\n")
		}
		picture.WriteString(show.TextFor(os.Stdout, line) + show.ClearLine)
	}
	picture.WriteString(show.ClearBelow)
	_, err = io.WriteString(os.Stdout, picture.String())
	return err
}

func (w *watcher) send(ctx context.Context, id string, p coleo.Prompt) {
	receipt, err := w.client.Prompt(ctx, id, p, "")
	done := sent{text: p.Text, note: show.Sent("sent", receipt, "; ")}
	if err != nil {
		done.note, done.failed = err.Error(), true
	}
	select {
	case w.sent <- done:
	case <-ctx.Done():
	}
}

// markChanged records that the arm has changed since the last read.
func (w *watcher) markChanged() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// followOutput waits for output of the arm, and calls markChanged for each piece. It returns when
// the output ends.
func (w *watcher) followOutput(ctx context.Context, id string) {
	for from := int64(-1); ; {
		out, err := w.client.Output(ctx, id, from, terminal.OutputWait)
		if coleo.ErrorCode(err) == coleo.EUnsupported {
			return // the arm has no terminal, so w.read notices the arm's end instead
		}
		if err != nil || out.End {
			w.ended <- err
			return
		}
		from = out.Offset + int64(len(out.Data))
		w.markChanged()
	}
}

// followEvents calls markChanged for each change and each event of the arm. If serve ends, followEvents
// connects again. It reports no errors, because followOutput reports them.
func (w *watcher) followEvents(ctx context.Context, id string) {
	for ctx.Err() == nil {
		for u, err := range w.client.Follow(ctx, "") {
			if err == nil && (u.Arm != nil && u.Arm.ID == id || u.Event != nil && u.Event.Arm == id) {
				w.markChanged()
			}
		}
		select {
		case <-time.After(watchAgain):
		case <-ctx.Done():
		}
	}
}

func (w *watcher) readKeys(ctx context.Context) {
	buf := make([]byte, 4096)
	left := 0
	for {
		n, err := os.Stdin.Read(buf[left:])
		if err != nil {
			return
		}
		keys, rest := watch.Keys(buf[:left+n])
		left = copy(buf, rest)
		select {
		case w.keys <- keys:
		case <-ctx.Done():
			return
		}
	}
}
