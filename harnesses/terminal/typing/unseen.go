package typing

import (
	"context"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/pty"
)

// probe is typed to find out whether all earlier input has been read, since keys keep
// their order. Neither dialogs nor composers act on it.
const probe = "."

// flushUnseen makes sure that the last typed text is no longer on its way. It acts only if
// that text was seen neither in the composer nor as a taken prompt. An agent CLI that
// stalls reads such a text later, and would join it to the next one. flushUnseen types a
// probe and returns when the composer shows it. The text before the probe is in the
// composer by then and can be cleared. The error is EBusy while the agent CLI stalls.
func (t *Typist) flushUnseen(ctx context.Context, left *unseen) error {
	if left.text == "" {
		return nil
	}
	keys := probe
	if left.torn && t.bracketed() {
		keys = pty.PasteEnd + probe // otherwise the probe would be part of the paste
	}
	if err := t.typeIf(ctx, t.mayPrompt, []byte(keys)); err != nil {
		return err
	}
	shown := func(r *reading.Reader) bool {
		c := r.Picture().Composer
		return c != nil && c.EndsWith(probe)
	}
	if !t.view.Await(ctx, heldTimeout+digesting(left.text), shown) {
		return coleo.Errorf(coleo.EBusy, "%s stands still: it has not read yet what was typed last", t.Spec().Title)
	}
	*left = unseen{}
	return nil
}
