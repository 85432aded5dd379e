package terminal

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"coleo.dev"
)

const (
	// goneTimeout bounds how long an answered dialog may stay on the screen.
	goneTimeout = 10 * time.Second
	// markTimeout bounds how long the mark of a list may take to move.
	markTimeout = 2 * time.Second
)

// Respond answers one appearance of one dialog, and returns when the dialog is gone from
// the screen. The error is EStale when another dialog or none is on the screen, and
// EUnsupported when the dialog does not offer the decision. It is EInvalid for an option
// that does not exist, EBusy when the screen never held still, and ETimeout when the
// dialog stays. Respond returns the error of ctx when that ends first.
func (s *session) Respond(ctx context.Context, dialog coleo.Fingerprint, d coleo.Decision) error {
	s.typing.Lock()
	defer s.typing.Unlock()
	same := s.showing(dialog)
	var v verdict
	var age time.Duration
	if err := s.still(ctx, func(f *frame, now verdict) error {
		v, age = now, time.Since(s.dialogs.since)
		return same(f, now)
	}); err != nil {
		return err
	}
	// A dialog loses keys that come with its first picture, because it does not read them
	// yet.
	if err := s.pause(ctx, ms(s.rules().Timing.DialogGap)-age); err != nil {
		return err
	}
	if err := s.choose(ctx, same, v, d); err != nil {
		return err
	}
	gone := func() bool {
		return s.verdict.state != "" && fingerprintOf(s.verdict.dialog) != dialog && !s.dialogs.doubt
	}
	if !s.await(ctx, goneTimeout, gone) && s.State().State != coleo.Dead {
		s.another()
		return coleo.Errorf(coleo.ETimeout, "the dialog %q is still on the screen %s after it was answered",
			v.dialog.Title, goneTimeout)
	}
	if d.Choice == coleo.Deny {
		s.lapse()
	}
	return nil
}

// showing returns the check that an appearance of a dialog is on the screen. When another
// dialog is in its place, the check reports so once that dialog has settled and its
// fingerprint is final.
func (s *session) showing(dialog coleo.Fingerprint) check {
	return func(_ *frame, v verdict) error {
		if v.dialog == nil {
			e := coleo.Errorf(coleo.EStale, "that dialog is no longer on the screen: nothing was typed")
			if v.state == "" {
				return passing{e}
			}
			return e
		}
		if v.dialog.Fingerprint == dialog {
			return nil
		}
		e := coleo.Errorf(coleo.EStale, "another dialog is on the screen now (%q): nothing was typed", v.dialog.Title)
		e.Dialog = v.dialog
		if s.dialogs.settling(time.Now()) > 0 {
			return passing{e}
		}
		return e
	}
}

// another makes the dialog on the screen a new appearance. It is called when a dialog was
// answered and the screen still shows the same text.
func (s *session) another() {
	s.mu.Lock()
	s.dialogs.gone()
	s.mu.Unlock()
	s.relook()
}

// choose types the keys of a decision.
func (s *session) choose(ctx context.Context, same check, v verdict, d coleo.Decision) error {
	if d.Words != "" {
		return coleo.Errorf(coleo.EUnsupported,
			"the dialogs of an agent CLI in a terminal take no words: pick an option, or deny and send a prompt")
	}
	if d.Choice == coleo.Deny && v.by.DenyKeys != "" {
		return s.typeKeys(ctx, same, v.by.DenyKeys)
	}
	if v.by.Select == "keys" && d.Choice != coleo.Reply {
		keys := map[coleo.Choice]string{coleo.Approve: v.by.Approve, coleo.ApproveAlways: v.by.Always,
			coleo.Deny: v.by.Deny}[d.Choice]
		if keys == "" {
			return notOffered(v.dialog, d)
		}
		return s.typeKeys(ctx, same, keys)
	}
	n, err := v.by.optionFor(v.dialog, d)
	if err != nil {
		return err
	}
	switch v.by.Select {
	case "digit":
		digit, err := v.digit(n)
		if err != nil {
			return err
		}
		return s.typeIf(ctx, same, digit)
	case "arrows":
		return s.moveTo(ctx, same, n, "UP", "DOWN")
	case "row":
		return s.moveTo(ctx, same, n, "LEFT", "RIGHT")
	}
	return notOffered(v.dialog, d)
}

// digit returns the key that picks an option: the number shown before it. In a list that
// has scrolled, that number is not the option's place.
func (v verdict) digit(n int) ([]byte, error) {
	number := strconv.Itoa(n + 1)
	if n < len(v.number) {
		number = v.number[n]
	}
	if len(number) != 1 {
		return nil, coleo.Errorf(coleo.EUnsupported,
			"option %q of the dialog %q has the number %s, which no key picks: nothing was typed", v.dialog.Options[n],
			v.dialog.Title, number)
	}
	return []byte(number), nil
}

// optionFor returns the index of the option that a decision means.
func (r *DialogRule) optionFor(d *coleo.Dialog, decision coleo.Decision) (int, error) {
	if decision.Choice == coleo.Reply {
		if n := decision.Option - 1; n >= 0 && n < len(d.Options) {
			return n, nil
		}
		return 0, coleo.Errorf(coleo.EInvalid, "the dialog %q has options 1 to %d, not %d", d.Title, len(d.Options),
			decision.Option)
	}
	pattern := map[coleo.Choice]*regexp.Regexp{coleo.Approve: r.approve, coleo.ApproveAlways: r.always,
		coleo.Deny: r.deny}[decision.Choice]
	for i, label := range d.Options {
		if pattern != nil && pattern.MatchString(label) {
			return i, nil
		}
	}
	return 0, notOffered(d, decision)
}

func notOffered(d *coleo.Dialog, decision coleo.Decision) error {
	return coleo.Errorf(coleo.EUnsupported, "the dialog %q does not offer %q; its options are %q", d.Title,
		decision.Choice, d.Options)
}

// typeKeys types a sequence of keys, each only while the dialog is still there.
func (s *session) typeKeys(ctx context.Context, same check, names string) error {
	keys, err := keySequence(names)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if i > 0 {
			if err := s.pause(ctx, ms(s.rules().Timing.KeyGap)); err != nil {
				return err
			}
		}
		if err := s.typeIf(ctx, same, key); err != nil {
			return err
		}
	}
	return nil
}

// moveTo moves the mark of a list to an option, sees the mark there, and only then
// presses ENTER. After a move it first pauses, because Gemini CLI 0.61.0 loses an ENTER
// that comes right after the new picture.
func (s *session) moveTo(ctx context.Context, same check, n int, back, on string) error {
	for moved := false; ; moved = true {
		now := -1
		err := s.still(ctx, func(f *frame, v verdict) error {
			if v.dialog != nil {
				now = v.dialog.Default
			}
			return same(f, v)
		})
		switch {
		case err != nil:
			return err
		case now == n && moved:
			if err := s.pause(ctx, ms(s.rules().Timing.DialogGap)); err != nil {
				return err
			}
			return s.enter(ctx, same, n)
		case now == n:
			return s.enter(ctx, same, n)
		case now < 0:
			return coleo.Errorf(coleo.EUnsupported, "which option of the list is marked cannot be seen: nothing was chosen")
		}
		key := on
		if now > n {
			key = back
		}
		if err := s.typeKeys(ctx, same, key); err != nil {
			return err
		}
		gone := func() bool { return s.verdict.dialog == nil || s.verdict.dialog.Default != now }
		if !s.await(ctx, markTimeout, gone) {
			return coleo.Errorf(coleo.ETimeout, "the mark of the list did not move to option %d: nothing was chosen", n+1)
		}
	}
}

// enter presses ENTER while the mark of a list is at an option.
func (s *session) enter(ctx context.Context, same check, n int) error {
	marked := func(f *frame, v verdict) error {
		if err := same(f, v); err != nil {
			return err
		}
		if v.dialog.Default != n {
			return coleo.Errorf(coleo.EStale, "the mark of the list moved away from option %d: nothing was chosen", n+1)
		}
		return nil
	}
	return s.typeKeys(ctx, marked, "ENTER")
}
