package terminal

import (
	"context"

	"coleo.dev"
	"coleo.dev/pty"
)

// probe is typed to find out whether all earlier input has been read, since keys keep
// their order. Neither dialogs nor composers act on it.
const probe = "."

// overtake makes sure that the last typed text is no longer on its way. It acts only if
// that text was seen neither in the composer nor as a taken prompt. An agent CLI that
// stalls reads such a text later, and would join it to the next one. overtake types
// a probe and returns when the composer shows it. The text before the probe is in the
// composer by then and can be cleared. The caller holds typing. The error is EBusy while
// the agent CLI stalls.
func (s *session) overtake(ctx context.Context) error {
	if s.unseen == "" {
		return nil
	}
	keys := probe
	if s.torn && s.bracketed() {
		keys = pty.PasteEnd + probe // otherwise the probe would be part of the paste
	}
	if err := s.typeIf(ctx, s.mayPrompt, []byte(keys)); err != nil {
		return err
	}
	out := func() bool {
		c := s.Picture().Composer
		return c != nil && c.EndsWith(probe)
	}
	if !s.await(ctx, heldTimeout+digesting(s.unseen), out) {
		return coleo.Errorf(coleo.EBusy, "%s stands still: it has not read yet what was typed last", s.rules().Title)
	}
	s.unseen, s.torn = "", false
	return nil
}
