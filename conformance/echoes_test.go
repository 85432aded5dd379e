package conformance

import (
	"context"
	"sync"

	"coleo.dev"
)

// echoes shows a denied dialog again, as a new dialog, until the next prompt.
type echoes struct {
	live
	mu    sync.Mutex
	shown *coleo.Dialog // the dialog to show; nil if none was denied
}

func (s *echoes) Respond(ctx context.Context, dialog coleo.Fingerprint, d coleo.Decision) error {
	was := s.live.State().Dialog
	err := s.live.Respond(ctx, dialog, d)
	if err == nil && d.Choice == coleo.ChoiceDeny && was != nil {
		copied := *was
		copied.Fingerprint += "-again"
		s.mu.Lock()
		s.shown = &copied
		s.mu.Unlock()
	}
	return err
}

func (s *echoes) State() coleo.Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.live.State()
	if s.shown != nil {
		now.State, now.Dialog = coleo.WaitingApproval, s.shown
	}
	return now
}

func (s *echoes) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	s.mu.Lock()
	s.shown = nil
	s.mu.Unlock()
	return s.live.SendPrompt(ctx, p)
}
