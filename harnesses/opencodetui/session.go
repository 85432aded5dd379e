package opencodetui

import (
	"context"
	"sync"

	"coleo.dev"
	"coleo.dev/harnesses/opencodeapi"
	"coleo.dev/window"
	"coleo.dev/window/pane"
)

// session is an opencodeapi session with a window.
type session struct {
	*opencodeapi.Session
	shown  *pane.Shown
	ctx    context.Context // canceled by Close and Kill
	cancel context.CancelFunc
	work   sync.WaitGroup
}

var (
	_ coleo.Session       = (*session)(nil)
	_ coleo.Windowed      = (*session)(nil)
	_ coleo.Compactor     = (*session)(nil)
	_ coleo.Prover        = (*session)(nil)
	_ coleo.UsageMeter    = (*session)(nil)
	_ coleo.HolderSession = (*session)(nil)
)

// begin opens the window in the background.
func (s *session) begin(place coleo.WindowPlace, environ []string) {
	w, err := s.shown.Begin(place, s.Handle().Workdir)
	if err != nil {
		s.shown.Fail(err.Error())
		return
	}
	s.work.Go(func() { _ = s.finish(s.ctx, w, environ) }) // Shown reports the error
}

// finish shows OpenCode's terminal program in the window `w`. The caller has already begun to open this
// window.
func (s *session) finish(ctx context.Context, w window.Window, environ []string) error {
	argv, env, err := s.ClientCommand(ctx)
	if err != nil {
		s.shown.Fail(err.Error())
		return err
	}
	handle := s.Handle()
	return s.shown.Finish(ctx, w, environ,
		pane.Order{Argv: argv, Env: env, Workdir: handle.Workdir, Arm: handle.Process})
}

// Window returns the present state of the window.
func (s *session) Window() coleo.Window { return s.shown.Window() }

// OpenWindow opens the window again: see coleo.Windowed.
func (s *session) OpenWindow(ctx context.Context, place coleo.WindowPlace, environ []string) error {
	if s.State().State == coleo.Dead {
		return coleo.Errorf(coleo.EExited, "no window was opened: the server has ended, recover the arm first")
	}
	if place.Terminal == "" {
		place.Terminal = s.shown.Window().Terminal
	}
	w, err := s.shown.Begin(place, s.Handle().Workdir)
	if err != nil {
		return err
	}
	return s.finish(ctx, w, environ)
}

// Kill ends the server, and then the window. It returns after both have ended. It returns the
// errors of opencodeapi.
func (s *session) Kill(ctx context.Context) error {
	s.cancel()
	s.work.Wait()
	if err := s.Session.Kill(ctx); err != nil {
		return err
	}
	s.shown.End()
	return nil
}

// Close ends the session. The server and the window continue.
func (s *session) Close() error {
	s.shown.Release()
	s.cancel()
	s.work.Wait()
	s.shown.Close()
	return s.Session.Close()
}
