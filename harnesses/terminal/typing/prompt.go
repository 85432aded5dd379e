package typing

import (
	"context"
	"errors"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
	"coleo.dev/timelimit"
)

const (
	// heldTimeout is how long a composer may take to show a pasted text. For a long text, stallTime is added.
	heldTimeout = 10 * time.Second
	// slowest is the lowest rate, in bytes per second, at which Coleo expects an agent CLI to handle a text.
	// If Gemini CLI 0.61.0 gets 100 kB in one line, it stalls for 27 to 100 s before it shows the text or
	// works on it. It stalls for longer on a loaded machine.
	slowest = 400
	// settledTimeout is how long a prompt waits for the first reading after Coleo has attached again to a
	// running agent CLI. The first reading comes in less than a second, but later on a loaded machine.
	settledTimeout = 10 * time.Second
	// Coleo empties the composer one row after another, with at most clearMost attempts. Each attempt
	// waits for clearTimeout. Coleo gives up after clearTries consecutive attempts without an effect.
	clearTries, clearMost = 3, 300
	clearTimeout          = time.Second
)

// SendPrompt types a prompt, submits it, and returns when the agent CLI has taken it. If p.Interrupt is set,
// SendPrompt first interrupts the running turn. It returns one of these errors:
//
//   - EInvalid if the prompt is empty, or if the agent CLI would not treat it as text but, for example, as a
//     command
//   - EBlocked if a dialog is open; the message says so if the dialog opened between the typing of the text
//     and the submit key
//   - EUnsettled if a dialog opened while the submit key was pressed
//   - EBusy if no prompt can be typed now
//   - EExited if the agent CLI has ended
//   - EUnrecognised if no rule recognizes the screen
//   - ETimeout if ctx ended first
//   - EPromptLost if nothing proves that the prompt arrived
func (t *Typist) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	text, err := t.Spec().PromptText(p.Text)
	if err != nil {
		if now := t.state(); now.State == coleo.WaitingApproval {
			// If a dialog is open, this error is more useful to the caller than the error in the text of the prompt.
			return coleo.Receipt{}, coleo.Blocked(now.Dialog)
		}
		return coleo.Receipt{}, err
	}
	if p.Interrupt {
		if _, err := t.Interrupt(ctx); err != nil {
			return coleo.Receipt{}, err
		}
	}
	if !p.Unproven {
		if err := t.provenIdle(); err != nil {
			return coleo.Receipt{}, err
		}
	}
	return t.send(ctx, text, nil)
}

// SendCompact submits the command that makes the agent CLI shorten its conversation. It returns when the
// agent CLI has taken the command. The error is EUnsupported if the agent CLI has no such command, and
// EBusy if the agent CLI is working. SendCompact also returns the errors of SendPrompt.
func (t *Typist) SendCompact(ctx context.Context) (coleo.Receipt, error) {
	spec := t.Spec()
	if !spec.Capabilities.Compact || spec.Keys.Compact == "" {
		return coleo.Receipt{}, coleo.Errorf(coleo.EUnsupported, "%s cannot compact its conversation", spec.Title)
	}
	if t.state().State.Working() {
		return coleo.Receipt{}, coleo.Errorf(coleo.EBusy, "%s is working: wait until it is idle, or interrupt it",
			spec.Title)
	}
	if err := t.provenIdle(); err != nil {
		return coleo.Receipt{}, err
	}
	receipt, err := t.send(ctx, spec.Keys.Compact, func(r *reading.Reader) error {
		if r.Picture().Shows(t.Spec().CompactWhen) {
			return nil
		}
		return coleo.Errorf(coleo.EBusy,
			"the menu of %s does not show %s as the command to be carried out: it was not submitted", spec.Title,
			spec.Keys.Compact)
	})
	receipt.Compact = true
	return receipt, err
}

// provenIdle returns an error if the screen is idle, but nothing proves that the last turn has ended.
// Without that proof, the agent CLI may be about to draw a dialog, and a prompt could answer it.
func (t *Typist) provenIdle() error {
	why := peek(t.view, (*reading.Reader).Unproven)
	if why == "" {
		return nil
	}
	return coleo.Errorf(coleo.EBusy, "nothing proves that the last turn of %s has ended (%s): nothing was typed; "+
		"look at its screen, then interrupt it, or prompt it with --unproven", t.Spec().Title, why)
}

// send types a text into the composer and submits it. If extraCheck is not nil, it must pass before the text
// is submitted.
func (t *Typist) send(ctx context.Context, text string, extraCheck Check) (coleo.Receipt, error) {
	left, done := t.turn.take()
	defer done()
	receipt, err := t.sendAlone(ctx, left, text, extraCheck)
	if err != nil {
		return receipt, t.turn.own.addRemovedTo(err)
	}
	t.turn.own.waiting = false
	receipt.Cleared = t.turn.own.takeRemoved()
	return receipt, nil
}

// sendAlone is send for a caller that holds the typingLock.
func (t *Typist) sendAlone(ctx context.Context, left *unseen, text string, extraCheck Check) (coleo.Receipt, error) {
	if err := t.flushUnseen(ctx, left); err != nil {
		return coleo.Receipt{}, err
	}
	t.view.Await(ctx, settledTimeout, func(r *reading.Reader) bool { return !r.Settling() })
	if err := t.leaveTrap(ctx); err != nil {
		return coleo.Receipt{}, err
	}
	if err := t.typeAlone(ctx, left, text); err != nil {
		return coleo.Receipt{}, err
	}
	if pause(ctx, t.Spec().Timing.PasteGap.Duration()) != nil {
		return coleo.Receipt{}, t.unsubmittedError()
	}
	if extraCheck != nil {
		t.view.Await(ctx, heldTimeout, func(r *reading.Reader) bool { return extraCheck(r) == nil })
	}
	receipt, err := t.submit(ctx, left, text, extraCheck)
	return receipt, withDone(err, typedAlone)
}

// typedAlone replaces nothingTyped in the error of a prompt that was typed and not submitted.
const typedAlone = "the prompt was typed and not submitted, and the next prompt clears it"

// typeTries is the largest number of times that Coleo types the same text. Coleo types the text again if the
// composer shows other text beside it.
const typeTries = 3

// typeAlone empties the composer, and types a text into it. It returns when the composer shows only this
// text. If other text has appeared meanwhile, for example a key that a person has just pressed, typeAlone
// begins again. After typeTries attempts, it returns EBusy.
func (t *Typist) typeAlone(ctx context.Context, left *unseen, text string) error {
	for try := range typeTries {
		if err := t.emptyComposer(ctx); err != nil && try > 0 {
			return withDone(err, typedAlone)
		} else if err != nil {
			return err
		}
		t.turn.own.noteTyping(text)
		if err := t.typeIf(ctx, t.mayPrompt, pty.Paste(text, t.pastesInBrackets())); err != nil {
			code := coleo.ErrorCode(err)
			torn := !errors.As(err, new(CallerGoneError)) && (code == coleo.EConflict || code == coleo.ETimeout)
			if t.turn.own.noteFailed(torn); torn {
				*left = unseen{text: text, torn: true}
			}
			return err
		}
		left.text = text
		if !t.awaitHeld(ctx, text) {
			if timelimit.Check(ctx) != nil {
				return t.unsubmittedError()
			}
			return t.notHeldError(ctx, text)
		}
		left.text = ""
		if !peek(t.view, func(r *reading.Reader) bool { return r.Picture().Joined(text) }) {
			return nil
		}
	}
	return peek(t.view, func(r *reading.Reader) error {
		return onScreen(r.Picture(), coleo.EBusy, "the prompt was typed and not submitted, because the composer of %s has "+
			"other text too; the next prompt clears both", t.Spec().Title)
	})
}

// unsubmittedError returns the error for a prompt that was typed, but whose time ran out before it was
// submitted. The text stays in the composer: after its time, Coleo types no key, not even to clear the
// text.
func (t *Typist) unsubmittedError() error {
	return coleo.Errorf(coleo.ETimeout,
		"time was up before the prompt was submitted to %s: its text stands in the composer, "+
			"and the next prompt clears it",
		t.Spec().Title)
}

// notHeldError returns the error for a text that was typed, but that the composer has not shown. Coleo has
// not pressed the submit key, so usually the prompt was not submitted. But without bracketed paste, the
// agent CLI can treat a line end in the text as the submit key.
func (t *Typist) notHeldError(ctx context.Context, text string) error {
	dialog := peek(t.view, func(r *reading.Reader) *coleo.Dialog {
		if !isAsking(r) {
			return nil
		}
		return r.Reading().Dialog
	})
	if dialog == nil || strings.Contains(text, "\n") && !t.pastesInBrackets() {
		return t.lostError(ctx, "the composer did not take the text")
	}
	return unsubmittedAt(dialog)
}

// unsubmittedAt returns the error for a prompt that was typed but not submitted because a dialog opened.
func unsubmittedAt(dialog *coleo.Dialog) error {
	e := coleo.Blocked(dialog)
	e.Message = "the prompt was typed and not submitted, because a dialog opened meanwhile; if its text stands in the " +
		"composer, the next prompt clears it: " + e.Message
	return e
}

// lostError returns the error for a prompt if nothing proves that the prompt arrived.
func (t *Typist) lostError(ctx context.Context, why string) error {
	if timelimit.Check(ctx) != nil {
		return coleo.Errorf(coleo.ETimeout,
			"time was up before it was seen what became of the prompt: whether %s took it is not known", t.Spec().Title)
	}
	return peek(t.view, func(r *reading.Reader) error {
		if r.Reading().State == coleo.Dead {
			return coleo.Errorf(coleo.EExited, "the agent CLI ended while the prompt was sent")
		}
		e := coleo.Errorf(coleo.EPromptLost, "the prompt cannot be proven to have reached %s: %s", t.Spec().Title, why)
		view := r.Core().View()
		e.Screen = &view
		r.ReportPromptLost(time.Now(), e.Message, &view)
		return e
	})
}

// awaitHeld waits until the composer shows the given text, and reports whether it does. It stops waiting
// when a dialog opens.
func (t *Typist) awaitHeld(ctx context.Context, text string) bool {
	held, _ := await(ctx, t.view, heldTimeout+stallTime(text), func(r *reading.Reader) (held, done bool) {
		held = r.Picture().Holds(text) || r.Picture().Overflows(text)
		return held, held || isAsking(r)
	})
	return held
}

// isAsking reports whether a dialog is open. A dialog is open in these cases:
//
//   - The reading contains a dialog, and the rules find a dialog on the newest picture too.
//   - The reading contains a dialog, and no rule recognizes the picture. Then only a pack, or a claim of
//     the agent CLI itself, reports the dialog.
//
// If a rule recognizes a picture without a dialog, the dialog of the reading has left the screen.
func isAsking(r *reading.Reader) bool {
	v := r.Verdict()
	return r.Reading().Dialog != nil && (v.Dialog != nil || v.State == "")
}

// stallTime returns how long an agent CLI may stall while it handles text.
func stallTime(text string) time.Duration {
	return time.Duration(len(text)/slowest) * time.Second
}

// mayPrompt is the check for typing a prompt. It passes if the picture shows the composer and no dialog,
// and the agent CLI now accepts prompts.
func (t *Typist) mayPrompt(r *reading.Reader) error {
	if err := t.mayType(r); err != nil {
		return err
	}
	if r.Picture().Trapped() {
		return t.trappedError()
	}
	return nil
}

// mayType is like mayPrompt, but also passes in a mode in which the composer accepts no prompt.
func (t *Typist) mayType(r *reading.Reader) error {
	spec, v, picture, state := t.Spec(), r.Verdict(), r.Picture(), r.Reading().State
	switch {
	case state == coleo.Dead:
		return coleo.Errorf(coleo.EExited, "the agent CLI has ended: recover the arm first")
	case v.Dialog != nil:
		return coleo.Blocked(v.Dialog)
	case state == coleo.WaitingApproval:
		return coleo.Blocked(nil)
	case v.State == "":
		return TransientError{onScreen(picture, coleo.EUnrecognised,
			"no rule of %s knows the screen: nothing was typed", spec.Name)}
	case picture.Composer == nil:
		return coleo.Errorf(coleo.EBusy, "%s shows no composer now: nothing was typed", spec.Title)
	case state == coleo.Initializing:
		return coleo.Errorf(coleo.EBusy, "%s is still starting: wait until it is idle", spec.Title)
	case v.State.Working() && !spec.Capabilities.QueueWhileBusy:
		return coleo.Errorf(coleo.EBusy, "%s is working and keeps no queue: wait until it is idle, or interrupt it",
			spec.Title)
	case v.State.Working() && !t.safelyQueues(r):
		return coleo.Errorf(coleo.EBusy,
			"%s is working, and its hook has not spoken: what is submitted now might answer a dialog that is not "+
				"drawn yet; wait until it is idle, or interrupt it", spec.Title)
	case r.AtWork() && !spec.Capabilities.QueueWhileBusy:
		// This error is transient: the other sources may report the end of a turn some moments after the
		// screen shows it.
		return TransientError{coleo.Errorf(coleo.EBusy, "%s is working, although its screen does not show it, and keeps no "+
			"queue: wait until it is idle, or interrupt it", spec.Title)}
	}
	return nil
}

// onScreen returns an error that contains the screen of picture p.
func onScreen(p *rules.Picture, code coleo.Code, format string, args ...any) error {
	e := coleo.Errorf(code, format, args...)
	e.Screen = &p.Screen
	return e
}

// emptyComposer clears the composer. Otherwise the agent CLI would add the prompt to a text that somebody
// has left there.
func (t *Typist) emptyComposer(ctx context.Context) error { return t.clearWhile(ctx, t.mayPrompt) }

// clearWhile clears the composer with keys. Before each key, it runs the check `may`, and stops if the
// check fails. If the composer contains a text of somebody else, clearWhile first stores this text. The
// receipt or the error of the call then reports it.
func (t *Typist) clearWhile(ctx context.Context, may Check) error {
	keys, err := rules.KeySequence(t.Spec().Keys.Clear)
	if err != nil {
		return err
	}
	own, failures, first, keptBefore := &t.turn.own, 0, "", t.turn.own.removed
	for round := 0; round < clearMost && failures < clearTries; round++ {
		before, _, err := find(ctx, t.view, func(r *reading.Reader) (content, error) {
			return contentOf(r), may(r)
		})
		if err != nil || before.empty {
			return err
		}
		for i, key := range keys {
			foreign, _, err := typeWhile(ctx, t, key, func(r *reading.Reader) (string, error) {
				return own.textOfOthers(r.Picture()), may(r)
			})
			if err != nil {
				return err
			}
			if round == 0 && i == 0 {
				first = before.text
				own.noteRemoved(foreign)
			}
		}
		cleared := func(r *reading.Reader) bool {
			now := contentOf(r)
			return now.shown && (now.empty || now.text != before.text)
		}
		if failures++; t.view.Await(ctx, clearTimeout, cleared) {
			failures = 0
		}
	}
	return peek(t.view, func(r *reading.Reader) error {
		now := contentOf(r)
		if now.empty {
			return nil
		}
		if now.text == first {
			own.removed = keptBefore // no key had an effect, so nothing was removed
		}
		return onScreen(r.Picture(), coleo.EBusy,
			"the composer of %s holds text that could not be cleared: nothing was typed", t.Spec().Title)
	})
}

// content is the composer's content on a picture.
type content struct {
	shown bool // the screen shows the composer
	empty bool
	text  string
}

func contentOf(r *reading.Reader) content {
	c := r.Picture().Composer
	if c == nil {
		return content{}
	}
	return content{shown: true, empty: c.Empty, text: c.Text}
}

func (t *Typist) pastesInBrackets() bool {
	return peek(t.view, func(r *reading.Reader) bool { return r.Core().Mode(pty.ModeBracketedPaste) })
}
