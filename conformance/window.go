package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/patience"
	"coleo.dev/waitfor"
)

// tmux is a tmux server for the windows of one trial. It is separate from any tmux server of the
// user.
type tmux struct {
	dir string // folder of the server's socket; its path is short, because a socket's path must be short
	env []string
}

const (
	// windowLook is the time between two checks of a window.
	windowLook = 50 * time.Millisecond
	// windowTimeout is how long to wait until a window opens or shows something.
	windowTimeout = 30 * time.Second
	// closedTimeout is how soon the session must report that the user has closed the window.
	closedTimeout = time.Second
)

// placeWindow makes the agent CLI's window open in the trial's own tmux server. It does nothing if
// the harness does not use a window.
func (t *Trial) placeWindow(c *coleo.SpawnConfig) error {
	if !t.Harness.Info().Capabilities.Window {
		return nil
	}
	if t.tmux == nil {
		dir, err := os.MkdirTemp("", "coleo-tmux-")
		if err != nil {
			return fmt.Errorf("make a folder for tmux: %w", err)
		}
		t.tmux = &tmux{dir: dir, env: slices.DeleteFunc(slices.Clone(t.config.Environ), func(kv string) bool {
			return strings.HasPrefix(kv, "TMUX")
		})}
		t.tmux.env = append(t.tmux.env, "TMUX_TMPDIR="+dir)
		if err := t.tmux.start(t.config.Size); err != nil {
			return err
		}
	}
	c.Window = t.place()
	return nil
}

// start starts the server without the user's configuration. The windows of the server have the
// given size.
func (x *tmux) start(size Size) error {
	_, err := x.run("-f", "/dev/null", "start-server", ";", "set", "-g", "exit-empty", "off", ";", "set", "-g",
		"default-size", fmt.Sprintf("%dx%d", cmp.Or(size.Cols, 120), cmp.Or(size.Rows, 40)))
	if errors.Is(err, exec.ErrNotFound) {
		return coleo.Errorf(coleo.ENotInstalled, "tmux is not installed: the checks open the window in it")
	}
	return err
}

func (t *Trial) place() *coleo.WindowPlace {
	return &coleo.WindowPlace{Terminal: "tmux", Name: t.name, Environ: map[string]string{"TMUX_TMPDIR": t.tmux.dir}}
}

// run runs a tmux command and returns the output of the command.
func (x *tmux) run(args ...string) (string, error) {
	cmd := exec.Command("tmux", args...)
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// close ends the server, if it runs.
func (x *tmux) close() {
	if x != nil {
		_, _ = x.run("kill-server") // an error is ignored, because it means that the server has crashed
		_ = os.RemoveAll(x.dir)
	}
}

// pane returns tmux's name for the only window.
func (x *tmux) pane() (string, error) {
	out, err := x.run("list-panes", "-a", "-F", "#{pane_id}")
	if err != nil {
		return "", err
	}
	panes := strings.Fields(out)
	if len(panes) != 1 {
		return "", fmt.Errorf("there are %d windows, want one", len(panes))
	}
	return panes[0], nil
}

// inWindow uses the window as a person does. It asks tmux what the window shows.
func inWindow(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	s, ok := t.Session.(coleo.Windowed)
	if !ok {
		return fmt.Errorf("the session has no window")
	}
	if _, err := t.awaitWindow(ctx, s, windowTimeout, coleo.WindowOpen); err != nil {
		return err
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	if err := t.windowShows(ctx, nonce); err != nil {
		return err
	}
	if err := t.typeInWindow(ctx); err != nil {
		return err
	}
	nonce = Nonce()
	took, err := t.closeWindow(ctx, s, nonce)
	if err != nil {
		return err
	}
	if err := s.OpenWindow(ctx, *t.place(), t.tmux.env); err != nil {
		return fmt.Errorf("open the window again: %w", err)
	}
	if err := t.windowShows(ctx, nonce); err != nil {
		return fmt.Errorf("after the window was opened again: %w", err)
	}
	t.details = fmt.Sprintf("it shows the answer, takes keys, and its end was told after %d ms", took.Milliseconds())
	return nil
}

// typeInWindow types a prompt into the window, and checks that the session notices the turn.
func (t *Trial) typeInWindow(ctx context.Context) error {
	pane, err := t.tmux.pane()
	if err != nil {
		return err
	}
	nonce, from := Nonce(), waitfor.NewestCursor(t.Session)
	prompt := "say " + nonce
	if _, err := t.tmux.run("send-keys", "-t", pane, "-l", prompt); err != nil {
		return err
	}
	if err := t.windowShows(ctx, prompt); err != nil {
		return err
	}
	if _, err := t.tmux.run("send-keys", "-t", pane, "Enter"); err != nil {
		return err
	}
	for c, err := range t.Session.Changes(ctx, from) {
		if err != nil {
			return err
		}
		if c.Kind == coleo.ChangeState && c.Reading.State.Working() {
			break
		}
	}
	if _, err := waitfor.Idle(ctx, t.Session); err != nil {
		return fmt.Errorf("after a prompt that was typed in the window: %w", err)
	}
	answer, err := t.Session.Answer(ctx, coleo.Receipt{})
	if err != nil {
		return err
	}
	if n := timesPrompted(t.Model, prompt); n != 1 || strings.TrimSpace(answer.Text) != nonce {
		return fmt.Errorf("a prompt that was typed in the window reached the model %d times, and its answer is %q, want %q",
			n, answer.Text, nonce)
	}
	return nil
}

// closeWindow closes the window during a turn whose answer ends with the nonce. It checks that the
// session reports the closed window, and that the turn continues. It returns how long the session
// took to report the closed window.
func (t *Trial) closeWindow(ctx context.Context, s coleo.Windowed, nonce string) (time.Duration, error) {
	prompt := "count to 20 every 100ms then say " + nonce
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		return 0, err
	}
	if err := t.awaitAnswerBegin(ctx, prompt); err != nil {
		return 0, err
	}
	pane, err := t.tmux.pane()
	if err != nil {
		return 0, err
	}
	closed := time.Now()
	if _, err := t.tmux.run("kill-pane", "-t", pane); err != nil {
		return 0, err
	}
	w, err := t.awaitWindow(ctx, s, closedTimeout, coleo.WindowClosed)
	if err != nil {
		return 0, fmt.Errorf("its user has closed the window: %w", err)
	}
	took := time.Since(closed)
	if !strings.Contains(w.Reason, "its user") {
		return 0, fmt.Errorf("its user has closed the window, but what is told is %q", w.Reason)
	}
	answer, err := waitfor.Response(ctx, t.Session, receipt)
	if err != nil {
		return 0, fmt.Errorf("after its window was closed: %w", err)
	}
	if !strings.Contains(answer.Text, nonce) {
		return 0, fmt.Errorf("after its window was closed, the answer is %q, want one with %q", answer.Text, nonce)
	}
	return took, nil
}

// awaitWindow waits until the window is in the wanted state.
func (t *Trial) awaitWindow(ctx context.Context, s coleo.Windowed, limit time.Duration, want coleo.WindowState) (
	coleo.Window, error) {
	ctx, cancel := patience.With(ctx, limit)
	defer cancel()
	for {
		w := s.Window()
		if w.State == want {
			return w, nil
		}
		if waitFor(ctx, windowLook); ctx.Err() != nil {
			return w, fmt.Errorf("the window is %q (%s), want %q within %s", w.State, w.Reason, want, limit)
		}
	}
}

// windowShows waits until the window shows a text.
func (t *Trial) windowShows(ctx context.Context, text string) error {
	ctx, cancel := patience.With(ctx, windowTimeout)
	defer cancel()
	for {
		shown := ""
		pane, err := t.tmux.pane()
		if err == nil {
			shown, err = t.tmux.run("capture-pane", "-p", "-t", pane)
		}
		if err == nil && strings.Contains(shown, text) {
			return nil
		}
		if waitFor(ctx, windowLook); ctx.Err() != nil {
			return errors.Join(err, fmt.Errorf("the window does not show %q; it shows\n%s", text, shown))
		}
	}
}
