package conformance

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/holder"
	"coleo.dev/window/pane"
)

// asViewer makes the test binary act as the program in the window of the fake agent CLI. This program shows
// the fake's terminal and sends keys to it. The arguments are the holder's folder and nonce.
const asViewer = "coleo-test-viewer"

func view(dir, nonce string) error {
	raw := exec.Command("stty", "raw", "-echo")
	raw.Stdin = os.Stdin
	if err := raw.Run(); err != nil {
		return err
	}
	output, err := holder.Dial(dir, nonce)
	if err != nil {
		return err
	}
	keys, err := holder.Dial(dir, nonce)
	if err != nil {
		return err
	}
	go func() {
		for buf := make([]byte, 1024); ; {
			n, err := os.Stdin.Read(buf)
			if err != nil {
				return
			}
			_, _ = keys.Write(holder.Write{ID: rand.Text(), Kind: holder.WriteKeys, Data: buf[:n]})
		}
	}()
	stream, err := output.Stream(context.Background(), 0)
	if err != nil {
		return err
	}
	for {
		chunk, err := stream.Next()
		if err != nil || chunk.Exit != nil {
			return err
		}
		if _, err := os.Stdout.Write(chunk.Data); err != nil {
			return err
		}
	}
}

// inWindows is a harness that starts the fake agent CLI in a window.
type inWindows struct{ coleo.Harness }

// needTmux skips the test if tmux is not installed. If COLEO_REQUIRE names tmux, the test fails instead.
func needTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if required("tmux") {
			t.Fatal("tmux is required and not installed")
		}
		t.Skip("tmux is not installed")
	}
}

func (h inWindows) Info() coleo.Info {
	info := h.Harness.Info()
	info.Capabilities.Window = true
	return info
}

func (h inWindows) Spawn(ctx context.Context, c coleo.SpawnConfig) (coleo.Session, error) {
	s, err := h.Harness.Spawn(ctx, c)
	if err != nil {
		return nil, err
	}
	shown, err := newShownLive(s.(live))
	if err != nil {
		return nil, err
	}
	return shown, shown.OpenWindow(ctx, *c.Window, coleo.WindowEnviron(c.Environ, *c.Window))
}

func (h inWindows) Attach(ctx context.Context, handle coleo.Handle) (coleo.Session, error) {
	s, err := h.Harness.Attach(ctx, handle)
	if err != nil {
		return nil, err
	}
	shown, err := newShownLive(s.(live))
	if err == nil {
		shown.shown.Resume()
	}
	return shown, err
}

// shownLive is a session of the fake agent CLI in a window.
type shownLive struct {
	live
	shown *pane.Shown
	self  string

	mu       sync.Mutex
	reported []coleo.Window
}

func newShownLive(s live) (*shownLive, error) {
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		return nil, err
	}
	out := &shownLive{live: s, self: self}
	out.shown = pane.NewShown(s.Handle().Dir, []string{testprogram.Path(), pane.Verb}, "The fake", func(w coleo.Window) {
		out.mu.Lock()
		defer out.mu.Unlock()
		out.reported = append(out.reported, w)
	})
	return out, nil
}

func (s *shownLive) Window() coleo.Window { return s.shown.Window() }

func (s *shownLive) OpenWindow(ctx context.Context, p coleo.WindowPlace, environ []string) error {
	handle := s.Handle()
	w, err := s.shown.Begin(p, handle.Workdir)
	if err != nil {
		return err
	}
	return s.shown.Finish(ctx, w, environ, pane.Order{Argv: []string{s.self, asViewer, handle.Dir, handle.Nonce},
		Env: []string{"PATH=" + os.Getenv("PATH")}, Workdir: handle.Workdir, Arm: handle.Process})
}

func (s *shownLive) Kill(ctx context.Context) error {
	err := s.live.Kill(ctx)
	s.shown.End()
	return err
}

func (s *shownLive) Close() error {
	s.shown.Close()
	return s.live.Close()
}

// alwaysOpen never reports that its window was closed.
type alwaysOpen struct {
	live
	coleo.Windowed
}

func (s alwaysOpen) Window() coleo.Window {
	w := s.Windowed.Window()
	if w.State == coleo.WindowClosed {
		w.State = coleo.WindowOpen
	}
	return w
}

// crashes reports that its window has crashed when it was closed.
type crashes struct{ alwaysOpen }

func (s crashes) Window() coleo.Window {
	w := s.Windowed.Window()
	if w.State == coleo.WindowClosed {
		w.Reason = "the program in it has crashed"
	}
	return w
}

// ends ends the agent CLI when its window is closed.
type ends struct{ alwaysOpen }

func (s ends) Window() coleo.Window {
	w := s.Windowed.Window()
	if w.State == coleo.WindowClosed {
		_ = s.Kill(context.Background())
	}
	return w
}

// ofWindow turns a fault of sessions with a window into a fault of any session.
func ofWindow(fault func(alwaysOpen) live) breaks {
	return func(s live) live { return fault(alwaysOpen{s, s.(coleo.Windowed)}) }
}
