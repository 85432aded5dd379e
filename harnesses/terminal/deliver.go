package terminal

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

const (
	// heldTimeout bounds how long a composer may take to show a paste, beside the time
	// that a long text takes.
	heldTimeout = 10 * time.Second
	// slowest is the lowest rate, in bytes per second, at which an agent CLI digests a
	// text that it shows or starts on. Gemini CLI 0.61.0 stalls for 27 to 100 s
	// over 100 kB in one line, and longer on a loaded machine.
	slowest = 400
	// startTimeout bounds how long the agent CLI may take to begin after submit. One
	// agent CLI took 18 s for the first prompt of its process on a loaded machine.
	startTimeout = 30 * time.Second
	// clearTries is how often in a row the keys that clear a row may be pressed in vain.
	// Each try lasts clearTimeout. clearMost bounds all tries: each clears one row.
	clearTries, clearMost = 3, 300
	clearTimeout          = time.Second
)

// SendPrompt types a prompt, submits it, and returns when the agent CLI has taken it.
// With p.Interrupt it first interrupts the turn that is running.
//
// The error is EInvalid for a prompt that the composer cannot take as text. It is
// EBlocked when a dialog is open, and EBusy when no prompt can be typed now. It is
// EExited after the agent CLI ended, and EUnrecognised when no rule knows the screen.
// ETimeout says that ctx ended first. EPromptLost says that the prompt cannot be proven
// to have arrived.
func (s *session) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	text, err := s.rules().PromptText(p.Text)
	if now := s.State(); err != nil && now.State == coleo.WaitingApproval {
		return coleo.Receipt{}, coleo.Blocked(now.Dialog) // an open dialog comes first
	}
	if err != nil {
		return coleo.Receipt{}, err
	}
	if p.Interrupt {
		if err := s.Interrupt(ctx); err != nil {
			return coleo.Receipt{}, err
		}
	}
	return s.send(ctx, text, nil)
}

// Compact makes the agent CLI shorten its conversation, and returns when it has done so.
// The error is EUnsupported where the agent CLI cannot, and EBusy while it is working. It
// is EBlocked when a dialog opens, and EInternal when the agent CLI fails. Compact also
// returns the errors of SendPrompt.
func (s *session) Compact(ctx context.Context) error {
	command := s.rules().Keys.Compact
	if !s.rules().Capabilities.Compact || command == "" {
		return coleo.Errorf(coleo.EUnsupported, "%s cannot compact its conversation", s.rules().Title)
	}
	if reading := s.State(); reading.State.Working() {
		return coleo.Errorf(coleo.EBusy, "%s is working: wait until it is idle, or interrupt it", s.rules().Title)
	}
	chosen := func(f *rules.Picture, _ rules.Verdict) error {
		if f.Shows(s.rules().CompactWhen) {
			return nil
		}
		return coleo.Errorf(coleo.EBusy,
			"the menu of %s does not show %s as the command to be carried out: it was not submitted", s.rules().Title, command)
	}
	receipt, err := s.send(ctx, command, chosen)
	if err != nil {
		return err
	}
	reading, err := coleo.WaitForTurn(ctx, s, receipt)
	switch {
	case err != nil:
		return err
	case reading.State == coleo.WaitingApproval:
		return coleo.Blocked(reading.Dialog)
	case reading.State == coleo.Failed:
		return coleo.Errorf(coleo.EInternal, "%s could not compact its conversation: %s", s.rules().Title, reading.Detail)
	}
	return nil
}

// send types a text into the composer and submits it. With also, it submits only once
// that check passes.
func (s *session) send(ctx context.Context, text string, also check) (coleo.Receipt, error) {
	s.typing.Lock()
	defer s.typing.Unlock()
	if err := s.overtake(ctx); err != nil {
		return coleo.Receipt{}, err
	}
	if err := s.emptyComposer(ctx); err != nil {
		return coleo.Receipt{}, err
	}
	if err := s.typeIf(ctx, s.mayPrompt, pty.Paste(text, s.bracketed())); err != nil {
		if code := coleo.ErrorCode(err); !errors.As(err, new(unwanted)) &&
			(code == coleo.EConflict || code == coleo.ETimeout) {
			s.unseen, s.torn = text, true
		}
		return coleo.Receipt{}, err
	}
	s.unseen = text
	if !s.awaitHeld(ctx, text) {
		if coleo.Wanted(ctx) != nil {
			return coleo.Receipt{}, s.unsubmitted()
		}
		return coleo.Receipt{}, s.lost(ctx, "the composer did not take the text")
	}
	s.unseen = ""
	if s.pause(ctx, s.rules().Timing.PasteGap.Duration()) != nil {
		return coleo.Receipt{}, s.unsubmitted()
	}
	if also != nil {
		s.await(ctx, heldTimeout, func() bool { return also(s.Picture(), s.Verdict()) == nil })
	}
	return s.submit(ctx, text, also)
}

// unsubmitted returns the error for a prompt whose time was up after its text was typed.
// The text stays where it is: no key may be typed after that time, not even one that
// clears it.
func (s *session) unsubmitted() error {
	return coleo.Errorf(coleo.ETimeout,
		"time was up before the prompt was submitted to %s: its text stands in the composer, and the next prompt clears it", s.rules().Title)
}

// awaitHeld waits until the composer shows a text, and reports whether it does. It stops
// waiting when a dialog stands in the composer's place.
func (s *session) awaitHeld(ctx context.Context, text string) (held bool) {
	s.await(ctx, heldTimeout+digesting(text), func() bool {
		held = s.Picture().Holds(text) || s.Picture().Overflows(text)
		return held || s.asks()
	})
	return held
}

// digesting returns how long an agent CLI may stall over a text.
func digesting(text string) time.Duration {
	return time.Duration(len(text)/slowest) * time.Second
}

// mayPrompt is the check before text is typed. It passes when this picture shows the
// composer and no dialog, and the agent CLI takes prompts now.
func (s *session) mayPrompt(f *rules.Picture, v rules.Verdict) error {
	switch {
	case s.Reading().State == coleo.Dead:
		return coleo.Errorf(coleo.EExited, "the agent CLI has ended: recover the arm first")
	case v.Dialog != nil:
		return coleo.Blocked(v.Dialog)
	case s.Reading().State == coleo.WaitingApproval:
		return coleo.Blocked(nil)
	case v.State == "":
		e := coleo.Errorf(coleo.EUnrecognised, "no rule of %s knows the screen: nothing was typed", s.rules().Name)
		e.Screen = &f.Screen
		return passing{e}
	case f.Composer == nil:
		return coleo.Errorf(coleo.EBusy, "%s shows no composer now: nothing was typed", s.rules().Title)
	case s.Reading().State == coleo.Initializing:
		return coleo.Errorf(coleo.EBusy, "%s is still starting: wait until it is idle", s.rules().Title)
	case v.State.Working() && !s.rules().Capabilities.QueueWhileBusy:
		return coleo.Errorf(coleo.EBusy, "%s is working and keeps no queue: wait until it is idle, or interrupt it",
			s.rules().Title)
	case v.State.Working() && !s.safelyQueues():
		return coleo.Errorf(coleo.EBusy,
			"%s is working, and its hook has not spoken: what is submitted now might answer a dialog that is not drawn yet; wait until it is idle, or interrupt it", s.rules().Title)
	}
	if f.Trapped() {
		return coleo.Errorf(coleo.EBusy, "%s is in a mode that takes no prompt: nothing was typed", s.rules().Title)
	}
	return nil
}

// emptyComposer clears text that somebody left in the composer, because the agent CLI
// would join it to the prompt.
func (s *session) emptyComposer(ctx context.Context) error {
	keys, err := rules.KeySequence(s.rules().Keys.Clear)
	if err != nil {
		return err
	}
	vain := 0
	for round := 0; round < clearMost && vain < clearTries; round++ {
		empty, left := false, ""
		err := s.still(ctx, func(f *rules.Picture, v rules.Verdict) error {
			if f.Composer != nil {
				empty, left = f.Composer.Empty, f.Composer.Text
			}
			return s.mayPrompt(f, v)
		})
		if err != nil || empty {
			return err
		}
		for _, key := range keys {
			if err := s.typeIf(ctx, s.mayPrompt, key); err != nil {
				return err
			}
		}
		less := func() bool {
			return s.Picture().Composer != nil && (s.Picture().Composer.Empty || s.Picture().Composer.Text != left)
		}
		if vain++; s.await(ctx, clearTimeout, less) {
			vain = 0
		}
	}
	return s.unless(func(f *rules.Picture) bool { return f.Composer != nil && f.Composer.Empty },
		coleo.EBusy, "the composer of %s holds text that could not be cleared: nothing was typed", s.rules().Title)
}

func (s *session) unless(ok func(*rules.Picture) bool, code coleo.Code, format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok(s.Picture()) {
		return nil
	}
	e := coleo.Errorf(code, format, args...)
	e.Screen = &s.Picture().Screen
	return e
}

// relook looks at the screen although no output came, and again when another look is due.
// After output the read loop does so by itself.
func (s *session) relook() {
	if again := s.look(time.Now()); again < reading.IdleLook {
		time.AfterFunc(again, s.relook)
	}
}

// lapse discards what the agent CLI reported of itself before it was stopped.
func (s *session) lapse() {
	s.mu.Lock()
	s.LapseClaims()
	s.mu.Unlock()
	s.relook()
}

// lost returns the error for a prompt that cannot be proven to have arrived.
func (s *session) lost(ctx context.Context, why string) error {
	if coleo.Wanted(ctx) != nil {
		return coleo.Errorf(coleo.ETimeout,
			"time was up before it was seen what became of the prompt: whether %s took it is not known", s.rules().Title)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Reading().State == coleo.Dead {
		return coleo.Errorf(coleo.EExited, "the agent CLI ended while the prompt was sent")
	}
	e := coleo.Errorf(coleo.EPromptLost, "the prompt cannot be proven to have reached %s: %s", s.rules().Title, why)
	view := s.Core().View()
	e.Screen = &view
	s.LosePrompt(time.Now(), e.Message, &view)
	return e
}

func (s *session) bracketed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Core().Mode(pty.ModeBracketedPaste)
}
