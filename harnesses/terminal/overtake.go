package terminal

import (
	"context"
	"strings"

	"coleo.dev"
	"coleo.dev/pty"
)

// probe is typed to see whether all that was typed before it has been read: keys
// keep their order. No dialog and no composer does anything with it.
const probe = "."

// overtake makes sure that what was typed last, and was not seen in the composer
// or to be taken, is not on its way any more: an agent CLI that stands still reads
// it later, and would join it to what is typed now. It returns when a probe has
// come out behind it; what both leave in the composer is seen then, and cleared.
// The caller holds typing. Error: EBusy while the agent CLI stands still.
func (s *session) overtake(ctx context.Context) error {
	if s.unseen == "" {
		return nil
	}
	keys := probe
	if s.torn && s.bracketed() {
		keys = pty.PasteEnd + probe // else the probe is a part of the paste
	}
	if err := s.typeIf(ctx, s.mayPrompt, []byte(keys)); err != nil {
		return err
	}
	out := func() bool {
		c := s.frame.composer
		return c != nil && strings.HasSuffix(squeeze(c.text), probe)
	}
	if !s.await(ctx, heldTimeout+digesting(s.unseen), out) {
		return coleo.Errorf(coleo.EBusy, "%s stands still: it has not read yet what was typed last", s.rules().Title)
	}
	s.unseen, s.torn = "", false
	return nil
}
