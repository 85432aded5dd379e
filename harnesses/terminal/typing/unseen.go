package typing

import (
	"context"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/pty"
)

// probe is typed to find out whether the agent CLI has read all earlier input. Keys
// keep their order. Neither a dialog nor a composer acts on this key.
const probe = "."

// flushUnseen makes sure that the agent CLI has read the text that was typed last. It
// does nothing if the text was seen in the composer or as a taken prompt. An agent CLI
// that stalls would read the old text later, and would join it to the next text.
// flushUnseen types a probe and returns when the composer shows the probe. By then the
// old text is in the composer too, and can be cleared. The error is EBusy if the agent
// CLI stalls.
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
