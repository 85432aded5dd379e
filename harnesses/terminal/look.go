package terminal

import (
	"fmt"
	"time"

	"coleo.dev/harnesses/terminal/rules"

	"coleo.dev"
	"coleo.dev/pty"
)

// idleLook is how long the loop sleeps when nothing is expected. Output wakes the loop,
// so idleLook only keeps the timer from firing.
const idleLook = time.Hour

const (
	// quiet is how long output must pause before a picture counts as whole. It applies
	// where the agent CLI does not mark its pictures with DEC mode 2026.
	quiet = 15 * time.Millisecond
	// restless is the age at which output that never pauses is looked at all the same.
	restless = 100 * time.Millisecond
	// unclosed is how long a synchronized update may stay open before its part of the
	// picture is looked at. Terminals wait as long.
	unclosed = time.Second
)

// paint is how far the agent CLI has painted its next picture.
type paint struct {
	begun time.Time // when output came that no look has seen; zero: all is seen
	whole bool      // that output ends with the end of a synchronized update
}

// halfDone returns how long to wait until the screen counts as a whole picture, 0 when it
// does. A reading of half a picture is wrong: it might join an old dialog's buttons to
// new text.
func (r *reader) halfDone(now time.Time) time.Duration {
	switch p := r.paint; {
	case p.begun.IsZero() || p.whole:
		return 0
	case r.screen.Frame().Open:
		return max(0, unclosed-now.Sub(p.begun))
	default:
		return max(0, min(quiet-now.Sub(r.fed), restless-now.Sub(p.begun)))
	}
}

// look reads the screen, unless it is half painted, and updates the reading. It returns
// when to look again if no output comes.
func (r *reader) look(now time.Time) time.Duration {
	if wait := r.halfDone(now); wait > 0 {
		return wait
	}
	r.paint, r.seen = paint{}, now
	r.frame = rules.NewPicture(r.view(), &r.spec.Composer)
	r.frame.Use(r.screen.Cell, r.memo)
	r.verdict = r.spec.Read(r.frame)
	if r.verdict.State == coleo.Dead && !r.alone {
		// The screen says goodbye. Only the process shows that the agent CLI has ended.
		r.verdict = rules.Verdict{}
	}
	if r.verdict.Dialog != nil {
		// What the hook adds comes later. It must not change the dialog's fingerprint.
		r.verdict.Dialog.Fingerprint = r.dialogs.shows(&r.verdict, now)
		r.complete(&r.verdict)
	} else if r.verdict.State == "" {
		r.dialogs.hidden()
	} else {
		r.dialogs.gone()
	}
	if r.verdict.State.Working() || r.verdict.Dialog != nil {
		r.works()
	}
	return r.judge(now)
}

// view returns the screen without the bracketed paste mode while that mode is not known.
func (r *reader) view() coleo.Screen {
	v := r.screen.View()
	r.pastes = r.pastes || v.Modes[string(pty.ModeBracketedPaste)]
	if !r.pastes {
		delete(v.Modes, string(pty.ModeBracketedPaste))
	}
	return v
}

// judge combines the witnesses and returns when to judge again.
func (r *reader) judge(now time.Time) time.Duration {
	again := min(r.recognise(now), r.weigh(now))
	most, soon := r.mostCautious(now)
	again = min(again, soon)
	if r.verdict.State == "" && most == nil {
		return again
	}
	next := coleo.Reading{State: r.verdict.State, Rule: r.verdict.Rule, Detail: r.verdict.Detail, Dialog: r.verdict.Dialog}
	if left := r.dialogs.settling(now); next.Dialog != nil && left > 0 && !r.over {
		next.Dialog, again = nil, min(again, left)
	}
	if most != nil && (coleo.MoreCautious(next.State, most.state()) != next.State || r.verdict.Late &&
		most.state() == next.State) {
		next.State, next.Rule = most.state(), most.rule()
	}
	next.Known = r.verdict.State != ""
	return min(again, r.settle(now, next))
}

// weigh compares each voice with the screen. It reports voices that disagree with the
// screen and voices that lapse.
func (r *reader) weigh(now time.Time) time.Duration {
	next := idleLook
	for _, v := range r.witnesses() {
		kind, note, again := v.weigh(r.verdict.State, now)
		if kind != "" {
			r.tell(coleo.Change{Time: now, Kind: kind, Reading: r.reading, Note: note})
		}
		next = min(next, again)
	}
	return next
}

// mostCautious returns the voice that makes the most cautious claim, nil when none makes
// one. again is when a claim that is too early now will count.
func (r *reader) mostCautious(now time.Time) (most *voice, again time.Duration) {
	again = idleLook
	starting := r.fresh && r.reading.State == coleo.Initializing
	for _, v := range r.witnesses() {
		if v.state() == "" {
			continue
		}
		if wait := v.early(now); starting && wait > 0 {
			again = min(again, wait)
			continue
		}
		if most == nil || coleo.MoreCautious(most.state(), v.state()) != most.state() {
			most = v
		}
	}
	return most, again
}

// recognise keeps track of a screen that no rule knows.
func (r *reader) recognise(now time.Time) time.Duration {
	if r.verdict.State != "" {
		r.unknown, r.reported = time.Time{}, false
		return idleLook
	}
	if r.unknown.IsZero() {
		r.unknown = now
	}
	r.reading.Known = false
	bound := r.spec.Timing.Unknown.Duration()
	if r.reading.State == coleo.Initializing {
		bound = r.spec.Timing.Start.Duration()
	}
	if left := bound - now.Sub(r.unknown); left > 0 {
		return left
	}
	if !r.reported {
		r.reported = true
		view := r.screen.View()
		r.tell(coleo.Change{
			Time: now, Kind: coleo.ChangeUnrecognised, Reading: r.reading, Screen: &view,
			Note: fmt.Sprintf("no rule of %s knows this screen since %s", r.spec.Name, coleo.Age(now.Sub(r.unknown))),
		})
	}
	return idleLook
}

// settle passes on work and questions at once. It passes on idle and error only when they
// have held for the settling time and no prompt is on its way.
func (r *reader) settle(now time.Time, next coleo.Reading) time.Duration {
	if r.fresh && r.reading.State == coleo.Initializing && r.verdict.Late && next.Rule == r.verdict.Rule {
		r.pending = time.Time{}
		return idleLook
	}
	calm := next.State == coleo.Idle || next.State == coleo.Failed
	if !calm || next.State == r.reading.State {
		r.pending = time.Time{}
		r.become(now, next, "", nil)
		return idleLook
	}
	if r.hold {
		r.pending = time.Time{}
		return idleLook
	}
	if left := r.spec.Timing.Begin.Duration() - now.Sub(r.sent); next.State == coleo.Idle && !r.sent.IsZero() && left > 0 {
		// The composer holds the prompt, and the agent CLI has not begun on it.
		r.pending = time.Time{}
		return left
	}
	if r.pending.IsZero() {
		r.pending = now
	}
	if left := r.spec.Timing.Settle.Duration() - now.Sub(r.pending); left > 0 {
		return left
	}
	r.pending = time.Time{}
	r.become(now, next, "", nil)
	return idleLook
}

// become takes a new reading and reports it when it differs from the last one.
func (r *reader) become(now time.Time, next coleo.Reading, note string, view *coleo.Screen) {
	last := r.reading
	next.Since = last.Since
	if next.State != last.State {
		next.Since = now
	}
	r.reading = next
	if next.State == last.State && next.Detail == last.Detail && sameDialog(next.Dialog, last.Dialog) {
		return
	}
	r.tell(coleo.Change{Time: now, Kind: coleo.ChangeState, From: last.State, Reading: next, Note: note, Screen: view})
}

func fingerprintOf(d *coleo.Dialog) coleo.Fingerprint {
	if d == nil {
		return ""
	}
	return d.Fingerprint
}

// sameDialog reports whether two dialogs are the same appearance, with the same known
// content.
func sameDialog(a, b *coleo.Dialog) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Fingerprint == b.Fingerprint && a.Subject == b.Subject && a.Truncated == b.Truncated
}
