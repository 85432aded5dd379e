package opencodeapi

import (
	"context"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/holder"
)

// Client contains the command line and the environment of OpenCode's terminal program, which shows
// the conversation of a server.
type Client struct {
	Program string   `json:"program"`
	Env     []string `json:"env,omitempty"` // environment of the server, without the password
}

// clientEnv lists the server's variables that the terminal program also receives. A name that ends
// in _ is a prefix. The list contains no credentials and no variables of the user's own, because
// the terminal program asks no model and runs no command.
var clientEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_", "TZ", "TMPDIR", "XDG_", "OPENCODE_DISABLE_",
}

// clientOf returns the terminal program that belongs to a server. wordsBefore is the number of
// words before the program in the server's command line.
func clientOf(server holder.Launch, wordsBefore int) *Client {
	env := slices.DeleteFunc(slices.Clone(server.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.ContainsFunc(clientEnv, func(v string) bool {
			return v == name || strings.HasSuffix(v, "_") && strings.HasPrefix(name, v)
		})
	})
	return &Client{Program: server.Argv[wordsBefore], Env: append(env, server.MarkEnv())}
}

// ClientCommand waits until the server listens and the conversation exists. It returns the command
// line and the environment of the terminal program that shows the conversation. The error is
// EExited if the session ends first, the error of ctx if ctx ends first, and EUnsupported if the
// harness shows no window.
func (s *Session) ClientCommand(ctx context.Context) (argv, env []string, err error) {
	if s.own.Client == nil {
		return nil, nil, coleo.Errorf(coleo.EUnsupported, "%s is shown in no window", s.h.spec.Title)
	}
	select {
	case <-s.conversing:
	case <-s.ctx.Done():
		return nil, nil, coleo.Errorf(coleo.EExited, "the server has ended: recover the arm first")
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	s.mu.Lock()
	base, handle := s.server.base, s.handle
	s.mu.Unlock()
	return []string{s.own.Client.Program, "attach", base, "--session", handle.Conversation, "--dir", handle.Workdir},
		append(slices.Clone(s.own.Client.Env), passwordEnv+"="+s.own.Password), nil
}

// Tell adds a change to the session's list of changes. The change reports the new state `w` of the window.
func (s *Session) Tell(w coleo.Window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Add(coleo.Change{Time: w.Since, Kind: coleo.ChangeWindow, Reading: s.reading, Note: w.Reason, Window: &w})
}
