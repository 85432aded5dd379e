package terminal

import (
	"context"

	"coleo.dev"
)

// Usage returns what the conversation has taken so far.
func (s *session) Usage(ctx context.Context) (coleo.Usage, error) {
	if !s.rules().Capabilities.Usage || s.h.hooks.Usage == nil {
		return coleo.Usage{}, coleo.Errorf(coleo.EUnsupported, "%s keeps no account of its tokens that can be read", s.rules().Title)
	}
	u, err := s.h.hooks.Usage(ctx, s.factsNow())
	if u.Source == "" {
		u.Source = "transcript"
	}
	return u, err
}
