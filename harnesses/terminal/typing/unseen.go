package typing

import (
	"context"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/pty"
)

// probe is a key that Coleo types after earlier input. The agent CLI reads keys in the order in which they
// were typed. So if the composer shows the probe, the agent CLI has read all earlier input. The key does no
// harm: a composer only shows it, and a dialog ignores it.
const probe = "."

// flushUnseen makes sure that the agent CLI has read the last typed text. It does nothing if the screen has
// shown that this text arrived. Without flushUnseen, an agent CLI that stalls could read the old text late,
// and join it to the next text.
//
// flushUnseen types a probe and waits until the composer shows the probe. The old text is then in the
// composer too, where it can be cleared. The error is EBusy if the agent CLI stalls.
func (t *Typist) flushUnseen(ctx context.Context, left *unseen) error {
	if left.text == "" {
		return nil
	}
	keys := probe
	if left.torn && t.pastesInBrackets() {
		keys = pty.PasteEnd + probe // end the paste, so that the probe is not a part of it
	}
	if err := t.typeIf(ctx, t.mayPrompt, []byte(keys)); err != nil {
		return err
	}
	t.turn.own.probed = true
	shown := func(r *reading.Reader) bool {
		c := r.Picture().Composer
		return c != nil && c.EndsWith(probe)
	}
	if !t.view.Await(ctx, heldTimeout+stallTime(left.text), shown) {
		return coleo.Errorf(coleo.EBusy, "%s does not respond: it has not read the last typed text yet", t.Spec().Title)
	}
	*left = unseen{}
	return nil
}
