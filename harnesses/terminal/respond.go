package terminal

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
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
	var v rules.Verdict
	var age time.Duration
	if err := s.still(ctx, func(f *rules.Picture, now rules.Verdict) error {
		v, age = now, time.Since(s.DialogSince())
		return same(f, now)
	}); err != nil {
		return err
	}
	// A dialog loses keys that come with its first picture, because it does not read them
	// yet.
	if err := s.pause(ctx, s.rules().Timing.DialogGap.Duration()-age); err != nil {
		return err
	}
	if err := s.choose(ctx, same, v, d); err != nil {
		return err
	}
	gone := func() bool {
		return s.Verdict().State != "" && fingerprintOf(s.Verdict().Dialog) != dialog && !s.DialogDoubtful()
	}
	if !s.await(ctx, goneTimeout, gone) && s.State().State != coleo.Dead {
		s.another()
		return coleo.Errorf(coleo.ETimeout, "the dialog %q is still on the screen %s after it was answered",
			v.Dialog.Title, goneTimeout)
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
	return func(_ *rules.Picture, v rules.Verdict) error {
		if v.Dialog == nil {
			e := coleo.Errorf(coleo.EStale, "that dialog is no longer on the screen: nothing was typed")
			if v.State == "" {
				return passing{e}
			}
			return e
		}
		if v.Dialog.Fingerprint == dialog {
			return nil
		}
		e := coleo.Errorf(coleo.EStale, "another dialog is on the screen now (%q): nothing was typed", v.Dialog.Title)
		e.Dialog = v.Dialog
		if s.DialogSettling(time.Now()) {
			return passing{e}
		}
		return e
	}
}

// another makes the dialog on the screen a new appearance. It is called when a dialog was
// answered and the screen still shows the same text.
func (s *session) another() {
	s.mu.Lock()
	s.RenewDialog()
	s.mu.Unlock()
	s.relook()
}

// choose types the keys of a decision.
func (s *session) choose(ctx context.Context, same check, v rules.Verdict, d coleo.Decision) error {
	steps, err := v.Respond(d)
	switch {
	case err != nil:
		return err
	case steps.Keys != "":
		return s.typeKeys(ctx, same, steps.Keys)
	}
	return s.moveTo(ctx, same, steps.Option, steps.Back, steps.On)
}

// typeKeys types a sequence of keys, each only while the dialog is still there.
func (s *session) typeKeys(ctx context.Context, same check, names string) error {
	keys, err := rules.KeySequence(names)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if i > 0 {
			if err := s.pause(ctx, s.rules().Timing.KeyGap.Duration()); err != nil {
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
		err := s.still(ctx, func(f *rules.Picture, v rules.Verdict) error {
			if v.Dialog != nil {
				now = v.Dialog.Default
			}
			return same(f, v)
		})
		switch {
		case err != nil:
			return err
		case now == n && moved:
			if err := s.pause(ctx, s.rules().Timing.DialogGap.Duration()); err != nil {
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
		gone := func() bool { return s.Verdict().Dialog == nil || s.Verdict().Dialog.Default != now }
		if !s.await(ctx, markTimeout, gone) {
			return coleo.Errorf(coleo.ETimeout, "the mark of the list did not move to option %d: nothing was chosen", n+1)
		}
	}
}

// enter presses ENTER while the mark of a list is at an option.
func (s *session) enter(ctx context.Context, same check, n int) error {
	marked := func(f *rules.Picture, v rules.Verdict) error {
		if err := same(f, v); err != nil {
			return err
		}
		if v.Dialog.Default != n {
			return coleo.Errorf(coleo.EStale, "the mark of the list moved away from option %d: nothing was chosen", n+1)
		}
		return nil
	}
	return s.typeKeys(ctx, marked, "ENTER")
}

func fingerprintOf(d *coleo.Dialog) coleo.Fingerprint {
	if d == nil {
		return ""
	}
	return d.Fingerprint
}
