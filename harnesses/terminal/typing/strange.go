package typing

import (
	"context"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

// isStrange reports whether the screen shows the dialog with the given fingerprint, and no rule knows this
// dialog.
func (t *Typist) isStrange(dialog coleo.Fingerprint) bool {
	return peek(t.view, func(r *reading.Reader) bool {
		d := r.Strange()
		return d != nil && d.Fingerprint == dialog
	})
}

// pressAt types the key of the decision into a dialog that no rule knows. It returns when the screen has
// changed. The error is EUnsupported if a rule knows the dialog. It is also EUnsupported if the decision
// names no key, because Coleo cannot know which key means, for example, an approval.
func (t *Typist) pressAt(ctx context.Context, dialog coleo.Fingerprint, d coleo.Decision) error {
	if d.Key == "" || d.Choice != coleo.ChoiceAnswer {
		return coleo.Errorf(coleo.EUnsupported,
			"no rule knows how to answer this dialog, so nothing was typed: look at the screen, then name a key with --key")
	}
	keys, err := rules.KeySequence(d.Key)
	if err != nil || len(keys) != 1 {
		return coleo.Errorf(coleo.EInvalid, "%q is not one key: name one, such as ESCAPE, ENTER or y", d.Key)
	}
	same := func(r *reading.Reader) error {
		now := r.Strange()
		switch {
		case now != nil && now.Fingerprint == dialog:
			return nil
		case r.Verdict().Dialog != nil:
			return coleo.Errorf(coleo.EUnsupported,
				"a rule knows the dialog %q, so no key was typed: choose one of its options", r.Verdict().Dialog.Title)
		}
		return coleo.Errorf(coleo.EStale, "that dialog is no longer on the screen: nothing was typed")
	}
	if err := t.typeIf(ctx, same, keys[0]); err != nil {
		return err
	}
	changed := func(r *reading.Reader) bool { return same(r) != nil }
	if !t.view.Await(ctx, goneTimeout, changed) && t.state().State != coleo.Dead {
		return coleo.Errorf(coleo.ETimeout, "the key %s was typed, and the screen is the same %s later", d.Key, goneTimeout)
	}
	return nil
}
