package terminal

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
	"coleo.dev/harnesses/terminal/typing"
	"coleo.dev/pty"
)

// SendPrompt types a prompt and submits it. It returns when the agent CLI has taken the prompt. See
// typing.Typist.SendPrompt for the errors.
func (s *session) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	sent := time.Now()
	s.rememberPrompt(p.Text, sent)
	receipt, err := s.typist.SendPrompt(ctx, p)
	if err == nil || slices.Contains(maybeSubmitted, coleo.ErrorCode(err)) {
		go s.followPrompt(p.Text, sent)
	}
	return receipt, err
}

// maybeSubmitted lists the errors after which the agent CLI may still have taken the prompt.
var maybeSubmitted = []coleo.Code{coleo.EPromptLost, coleo.EUnsettled, coleo.ETimeout}

// Respond answers the dialog with the given fingerprint. It returns when this dialog has left the screen. See
// typing.Typist.Respond for the errors.
func (s *session) Respond(ctx context.Context, dialog coleo.Fingerprint, d coleo.Decision) error {
	return s.typist.Respond(ctx, dialog, d)
}

// Interrupt stops the running turn. See typing.Typist.Interrupt for the errors.
func (s *session) Interrupt(ctx context.Context) (coleo.Interruption, error) {
	return s.typist.Interrupt(ctx)
}

// Prove searches for a prompt that Coleo was about to type at the time r.Time. See
// typing.Typist.Prove.
func (s *session) Prove(ctx context.Context, r coleo.Receipt) (coleo.Proof, error) {
	s.rememberPrompt(r.Text, r.Time)
	return s.typist.Prove(ctx, r, typing.Past{
		Screen:  func() (*pty.Core, error) { return past.ScreenBeforeTyping(s.handle, r.Time) },
		LastKey: past.LastKey(s.handle, r.Time),
	})
}

// ContinueTurn makes the session wait for the end of a run's turn, as after SendPrompt.
func (s *session) ContinueTurn(r coleo.Receipt) {
	s.rememberPrompt(r.Text, r.Time)
	s.typist.ContinueTurn(r)
}

// Compact makes the agent CLI shorten its conversation. It returns when the agent CLI has
// taken the command. See typing.Typist.SendCompact for the errors.
func (s *session) Compact(ctx context.Context) (coleo.Receipt, error) {
	return s.typist.SendCompact(ctx)
}

// Modes returns the modes of the agent CLI, as the Spec describes them.
func (s *session) Modes() []coleo.Mode { return s.rules().ModeList() }

// SwitchMode switches to another mode. See typing.Typist.SwitchMode for the errors.
func (s *session) SwitchMode(ctx context.Context, id string) (coleo.ModeSwitch, error) {
	return s.typist.SwitchMode(ctx, id)
}

// SetModel gives the agent CLI another model. See typing.Typist.SetModel for the errors.
func (s *session) SetModel(ctx context.Context, model string) error {
	return s.typist.SetModel(ctx, model)
}
