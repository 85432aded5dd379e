package terminal

import (
	"context"

	"coleo.dev"
)

// Usage returns the tokens that the conversation has used so far. The error is EUnsupported if Coleo cannot
// read the agent CLI's token counts. Usage also returns the errors of Hooks.Usage.
func (s *session) Usage(ctx context.Context) (coleo.Usage, error) {
	if !s.rules().Capabilities.Usage || s.harness.hooks.Usage == nil {
		return coleo.Usage{}, coleo.Errorf(coleo.EUnsupported,
			"%s does not report its tokens in a form that Coleo can read", s.rules().Title)
	}
	u, err := s.harness.hooks.Usage(ctx, s.factsNow())
	if u.Source == "" {
		u.Source = "transcript"
	}
	return u, err
}
