package reading

import (
	"fmt"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// IdleLook is how long the caller's loop sleeps when the Reader expects no change. It is long, so that an
// idle arm costs almost no work. Output always wakes the loop.
const IdleLook = time.Hour

const (
	// pauseWhole is how long output must pause before a picture counts as complete. It is needed only if the
	// agent CLI does not mark the end of its pictures (DEC mode 2026).
	pauseWhole = 15 * time.Millisecond
	// longestPaint is how long the Reader waits for a pause in the output. Afterwards it looks at
	// the screen even if output continues.
	longestPaint = 100 * time.Millisecond
	// longestUpdate is how long the Reader waits for the end of a synchronized update. Afterwards it
	// looks at the screen even if the update is incomplete. Terminals use the same limit.
	longestUpdate = time.Second
)

// painting stores whether the agent CLI is painting a picture, and whether the picture is complete.
type painting struct {
	begun time.Time // when the first output after the last look came; zero if none has come
	whole bool      // the picture is complete, because the last output ended a synchronized update
}

// UntilWhole returns how long to wait until the screen counts as a complete picture, or 0 if it is complete
// now. The rules could misread half a picture, which may show new text together with the buttons of an old
// dialog.
func (r *Reader) UntilWhole(now time.Time) time.Duration {
	switch p := r.painting; {
	case p.begun.IsZero() || p.whole:
		return 0
	case r.screen.Frame().Open:
		return max(0, longestUpdate-now.Sub(p.begun))
	default:
		return max(0, min(pauseWhole-now.Sub(r.output.last), longestPaint-now.Sub(p.begun)))
	}
}

// LookDue reports whether there is a complete picture that the Reader has not looked at.
func (r *Reader) LookDue(now time.Time) bool {
	return !r.painting.begun.IsZero() && r.UntilWhole(now) == 0
}

// Look applies the rules to the screen and updates the reading. If the screen is half painted, Look does
// nothing. It returns how long the caller may wait for output before it must call Look again.
func (r *Reader) Look(now time.Time) time.Duration {
	if wait := r.UntilWhole(now); wait > 0 {
		return wait
	}
	if r.mayAsk() {
		r.hook.asking = now
	}
	r.painting, r.lookedAt = painting{}, now
	r.picture = r.nextPicture()
	r.verdict = r.spec.Read(r.picture)
	if r.verdict.State == coleo.Dead && !r.mode.noProcess {
		// The screen shows the text that the agent CLI prints before it ends, and a rule has read it as the end.
		// But only the end of the process proves that the agent CLI has ended. So drop this verdict.
		r.verdict = rules.Verdict{}
	}
	if r.verdict.State == coleo.Initializing && r.ready.expected {
		r.announceStart()
	}
	r.shownMode = r.spec.ModeOf(r.picture)
	r.askPack()
	if r.verdict.Dialog != nil {
		// Take the fingerprint before completeSubject changes the subject, because the hook's reports
		// must not change the fingerprint.
		r.verdict.Dialog.Fingerprint = r.dialogs.showDialog(&r.verdict, &r.picture.Screen, now)
		r.completeSubject(&r.verdict)
	} else if r.verdict.State == "" {
		r.dialogs.unknownPicture()
	} else {
		r.dialogs.endDialog(now)
	}
	if r.verdict.State.Working() || r.verdict.Dialog != nil {
		r.noteWork()
	}
	return r.Judge(now)
}

// noteMode emits a change if the picture shows another mode of the agent CLI, such as plan mode. The state
// stays the same. The picture counts only if a rule recognizes it, it shows no dialog, and the agent CLI
// has started.
func (r *Reader) noteMode(now time.Time) {
	switch {
	case r.shownMode == "" || r.shownMode == r.reading.Mode:
		return
	case r.verdict.State == "" || r.verdict.Dialog != nil:
		return
	case r.reading.State == coleo.Initializing || r.reading.State == coleo.Dead:
		return
	}
	r.reading.Mode = r.shownMode
	r.emit(coleo.Change{Time: now, Kind: coleo.ChangeMode, Reading: r.reading})
}

// visible returns the screen. If the program has never switched bracketed paste on, visible leaves this
// mode out, because the program may not support it. The value false would say that the program has switched
// it off.
func (r *Reader) visible() coleo.Screen {
	v := r.screen.View()
	r.sawPasteMode = r.sawPasteMode || v.Modes[string(pty.ModeBracketedPaste)]
	if !r.sawPasteMode {
		delete(v.Modes, string(pty.ModeBracketedPaste))
	}
	return v
}

// Judge combines the screen's verdict and the claims of the witnesses into a reading. It returns how long
// to wait until the next call of Judge. After the end of the program, the reading stays dead, although the last
// picture stays on the screen.
func (r *Reader) Judge(now time.Time) time.Duration {
	if r.reading.State == coleo.Dead && !r.mode.noProcess {
		return IdleLook
	}
	defer r.noteMode(now)
	r.noteWitnessedWork(now)
	if r.noteUnchanged(now) {
		// The rows above the composer have changed. A growing answer there means work, so the wait for idle begins
		// again.
		r.settlingSince = time.Time{}
	}
	wait := min(r.recognise(now), r.noteRedraw(now), r.checkWitnesses(now))
	most, soon := r.mostCautious(now)
	wait = min(wait, soon)
	raised := r.raisedVerdict()
	if r.verdict.State == "" && most == nil && raised.State == "" {
		r.strange.end()
		return wait
	}
	next := coleo.Reading{State: r.verdict.State, Rule: r.verdict.Rule, Detail: r.verdict.Detail,
		Dialog: r.verdict.Dialog}
	if left := r.dialogs.settleLeft(now); next.Dialog != nil && left > 0 && !r.mode.ended {
		next.Dialog, wait = nil, min(wait, left)
	}
	if most != nil && (coleo.MoreCautious(next.State, most.claims()) != next.State || r.verdict.Late &&
		most.claims() == next.State) {
		next.State, next.Rule = most.claims(), most.rule()
	}
	if raised.State != "" && coleo.MoreCautious(next.State, raised.State) != next.State {
		next.State, next.Rule, next.Detail = raised.State, raised.Rule, raised.Detail
	}
	if left := r.startupWait(next.State, now); left > 0 {
		next.State, next.Rule, wait = coleo.Initializing, ruleStarting, min(wait, left)
	}
	if next.State != coleo.Idle {
		r.turn.unproven = ""
	}
	if next.Known = r.verdict.State != ""; next.Known || next.State != coleo.WaitingApproval {
		r.strange.end()
	} else {
		next.Dialog, soon = r.strange.show(r.picture, raised.Dialog, r.dialogs.epoch, now)
		if left := r.redraws.timeLeft(now); left > 0 {
			next.Dialog, soon = nil, left
		}
		wait = min(wait, soon)
	}
	return min(wait, r.acceptWhenSettled(now, next))
}

// checkWitnesses compares the claim of each witness, such as the hook, with the screen. It emits a change
// for each new disagreement, and for each claim that no longer counts because the screen has contradicted
// it for too long. It returns how long to wait until the next check.
func (r *Reader) checkWitnesses(now time.Time) time.Duration {
	next := IdleLook
	for _, w := range r.witnesses() {
		bound := r.lapseBound(w)
		kind, note, wait := w.check(r.verdict.State, bound, now)
		if kind == coleo.ChangeLapse && bound == quietAfter {
			r.turn.unproven = note
		}
		if kind != "" {
			r.emit(coleo.Change{Time: now, Kind: kind, Reading: r.reading, Note: note})
		}
		next = min(next, wait)
	}
	return next
}

// mostCautious returns the witness, such as the hook, that claims the most cautious state. It returns nil
// if no claim counts. While the agent CLI starts, some claims do not count yet, and `wait` is the time
// until the first of them counts.
func (r *Reader) mostCautious(now time.Time) (most *witness, wait time.Duration) {
	wait = IdleLook
	starting := r.prompt.none && r.reading.State == coleo.Initializing
	for _, w := range r.witnesses() {
		if w.claims() == "" {
			continue
		}
		if left := w.tooEarlyFor(now); starting && left > 0 {
			wait = min(wait, left)
			continue
		}
		if most == nil || coleo.MoreCautious(most.claims(), w.claims()) != most.claims() {
			most = w
		}
	}
	return most, wait
}

// recognise measures for how long no rule has recognized the screen. If this lasts too long, it emits a
// change. It returns how long to wait until the next call.
func (r *Reader) recognise(now time.Time) time.Duration {
	if r.verdict.State != "" {
		r.unknown = unknown{}
		return IdleLook
	}
	if r.unknown.since.IsZero() {
		r.unknown.since = now
	}
	r.reading.Known = false
	bound := r.spec.Timing.Unknown.Duration()
	if r.reading.State == coleo.Initializing {
		bound = r.spec.Timing.Start.Duration()
	}
	if left := bound - now.Sub(r.unknown.since); left > 0 {
		return left
	}
	if left := r.awaitRedraw(bound, now); left > 0 && !r.unknown.emitted {
		return left
	}
	if !r.unknown.emitted {
		r.unknown.emitted = true
		view := r.screen.View()
		r.emit(coleo.Change{
			Time: now, Kind: coleo.ChangeUnrecognised, Reading: r.reading, Screen: &view,
			Note: fmt.Sprintf(r.unknownNote(), r.spec.Name, coleo.Age(now.Sub(r.unknown.since))),
		})
	}
	return IdleLook
}

// acceptWhenSettled decides whether the candidate becomes the reading. Work and dialogs become the reading
// at once. Idle and error become the reading if:
//
//   - The state has lasted for the settling time.
//   - It is known whether the submitted prompt has arrived.
//
// An error that was already on the screen when the newest prompt was submitted does not count at first. It
// counts when work on that prompt was seen, or when the Reader has waited too long for such work. The
// reason is that Gemini CLI 0.61.0 empties its composer a second before it shows the new prompt and the
// work on it.
//
// Idle must meet two more conditions:
//
//   - If the agent CLI signals the end of a turn, the signal has come.
//   - The text above the composer does not change. On some screens, a growing answer is the only sign of
//     work.
func (r *Reader) acceptWhenSettled(now time.Time, candidate coleo.Reading) time.Duration {
	if r.prompt.none && r.reading.State == coleo.Initializing && r.verdict.Late && candidate.Rule == r.verdict.Rule {
		r.settlingSince = time.Time{}
		return IdleLook
	}
	mustHold := candidate.State == coleo.Idle || candidate.State == coleo.Failed || r.isLowered(candidate.State)
	if !mustHold || candidate.State == r.reading.State {
		r.settlingSince = time.Time{}
		r.setReading(now, candidate, "", nil)
		return IdleLook
	}
	if r.prompt.undecided {
		r.settlingSince = time.Time{}
		return IdleLook
	}
	if candidate.State == coleo.Idle || r.isOld(candidate) {
		if begin := r.awaitBegin(now); begin > 0 {
			r.settlingSince = time.Time{}
			return begin
		}
	}
	if r.settlingSince.IsZero() {
		r.settlingSince = now
		if candidate.State == coleo.Idle {
			r.settlingSince = r.idleSince(now)
		}
	}
	left := r.spec.Timing.Settle.Duration() - now.Sub(r.settlingSince)
	if candidate.State == coleo.Idle {
		// these waits run at the same time
		left = max(left, r.awaitEnd(now), r.awaitProof(now))
	}
	if left > 0 {
		return left
	}
	if r.hasNews(now) {
		return 0
	}
	r.settlingSince = time.Time{}
	if candidate.State == coleo.Idle {
		r.settlePrompt(now)
	}
	r.setReading(now, candidate, "", nil)
	return IdleLook
}

// setReading stores a new reading, and emits a change if the new reading differs from the last one.
func (r *Reader) setReading(now time.Time, next coleo.Reading, note string, view *coleo.Screen) {
	last := r.reading
	r.news.since = time.Time{}
	next.Mode = last.Mode
	if next.State == coleo.Idle && r.turn.unproven != "" {
		next.Rule, next.Detail = coleo.RuleUnprovenIdle, r.turn.unproven
	}
	if next.State == coleo.Idle {
		next.Background = r.background
	}
	if next.State == coleo.Idle || next.State == coleo.Failed {
		r.dialogs.hiddenQuestion = nil // the turn in which the question was asked has ended
	}
	next.Since = last.Since
	if next.State != last.State {
		next.Since = now
	}
	r.reading = next
	if next.State == last.State && next.Detail == last.Detail && next.Background == last.Background &&
		sameDialog(next.Dialog, last.Dialog) {
		return
	}
	r.emit(coleo.Change{Time: now, Kind: coleo.ChangeState, From: last.State, Reading: next, Note: note, Screen: view})
}

// sameDialog reports whether two dialogs have the same fingerprint and the same content. The marked option
// may differ. But the subjects, the numbers of options, the pages, the ticks and the typed texts must be
// equal.
func sameDialog(a, b *coleo.Dialog) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Fingerprint == b.Fingerprint && a.Subject == b.Subject && a.Truncated == b.Truncated &&
		len(a.Options) == len(b.Options) && slices.Equal(a.Ticked, b.Ticked) && a.Typed == b.Typed &&
		a.Page == b.Page && a.Pages == b.Pages
}
