// Package opencodetui shows OpenCode in a terminal window that a person sees, and drives OpenCode
// through its HTTP API. It is package opencodeapi with a window: the server runs under a holder,
// and OpenCode's own terminal program runs in the window. Both this program and Coleo are clients
// of the server, so the conversation continues even if the window is closed.
package opencodetui

import (
	"context"
	_ "embed"
	"encoding/json"

	"coleo.dev"
	"coleo.dev/harnesses/opencodeapi"
	"coleo.dev/record"
	"coleo.dev/window"
	"coleo.dev/window/pane"
)

//go:embed harness.toml
var description []byte

// Harness implements coleo.Harness and coleo.Cataloguer.
type Harness struct {
	api  *opencodeapi.Harness
	hold []string
}

var (
	_ coleo.Harness        = (*Harness)(nil)
	_ coleo.Cataloguer     = (*Harness)(nil)
	_ coleo.AnswerReporter = (*Harness)(nil)
)

// ReadsAnswers returns true, because the server reports each message.
func (h *Harness) ReadsAnswers() bool { return true }

// New returns the harness. holdCommand is the command line that starts a holder. The window runs the same
// program, with the subcommand that package pane defines. The Watcher reports changes of OpenCode's
// database. New fails only if a built-in harness.toml is invalid.
func New(holdCommand []string, records *record.Watcher) (*Harness, error) {
	api, err := opencodeapi.NewFrom("opencode-tui/harness.toml", description, holdCommand, records)
	if err != nil {
		return nil, err
	}
	return &Harness{api: api, hold: holdCommand}, nil
}

// Info describes the harness.
func (h *Harness) Info() coleo.Info { return h.api.Info() }

// Conversations returns the result of the same method in package opencodeapi.
func (h *Harness) Conversations() record.Conversations { return h.api.Conversations() }

// Catalog returns the result of the same method in package opencodeapi.
func (h *Harness) Catalog(ctx context.Context, c coleo.SpawnConfig) (json.RawMessage, error) {
	return h.api.Catalog(ctx, c)
}

// Spawn starts the server, and returns its session. The session opens the window as soon as there
// is a conversation to show. If the session cannot open the window at that time, it reports the
// problem and continues. If the program of the window's terminal does not exist at all, Spawn
// starts nothing and returns the error of window.Check. Spawn also returns the errors of
// opencodeapi.
func (h *Harness) Spawn(ctx context.Context, c coleo.SpawnConfig) (coleo.Session, error) {
	var place coleo.WindowPlace
	if c.Window != nil {
		place = *c.Window
	}
	if err := window.Check(pane.Described(place, c.Workdir, nil)); err != nil {
		return nil, err
	}
	api, err := h.api.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	s := h.show(api)
	s.begin(place, coleo.WindowEnviron(c.Environ, place))
	return s, nil
}

// Attach reopens the session of a handle, and finds the session's window. It returns the errors of
// opencodeapi.
func (h *Harness) Attach(_ context.Context, handle coleo.Handle) (coleo.Session, error) {
	api, err := h.api.Reopen(handle)
	if err != nil {
		return nil, err
	}
	s := h.show(api)
	s.shown.Resume()
	return s, nil
}

func (h *Harness) show(api *opencodeapi.Session) *session {
	s := &session{Session: api}
	s.shown = pane.NewShown(api.Handle().Dir, []string{h.hold[0], pane.Verb}, "OpenCode", api.Tell)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}
