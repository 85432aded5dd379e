package terminal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"coleo.dev"
)

// idleLook is how long the loop sleeps when nothing is to be expected: output
// wakes it, so this only keeps the timer from firing.
const idleLook = time.Hour

const (
	// quiet is how long output must pause before a picture counts as whole,
	// where the agent CLI does not say so by DEC 2026.
	quiet = 15 * time.Millisecond
	// restless is how old output that never pauses may become before it is
	// looked at all the same.
	restless = 100 * time.Millisecond
	// unclosed is how long a synchronized update may stay open before what
	// there is of it is looked at. Terminals wait as long.
	unclosed = time.Second
)

// paint is how far the agent CLI is with painting its next picture.
type paint struct {
	begun time.Time // when output came that no look has seen; zero: all is seen
	whole bool      // that output ends with the end of a synchronized update
}

// halfDone returns how long to wait until the screen counts as a whole
// picture, 0 when it does. What is read of half a picture is wrong: an old
// dialog's buttons beside new text.
func (s *session) halfDone(now time.Time) time.Duration {
	switch p := s.paint; {
	case p.begun.IsZero() || p.whole:
		return 0
	case s.screen.Frame().Open:
		return max(0, unclosed-now.Sub(p.begun))
	default:
		return max(0, min(quiet-now.Sub(s.output), restless-now.Sub(p.begun)))
	}
}

// lookLocked reads the screen, unless it is half painted, brings the reading
// up to date and returns when to look again if no output comes.
func (s *session) lookLocked(now time.Time) time.Duration {
	if wait := s.halfDone(now); wait > 0 {
		return wait
	}
	s.paint = paint{}
	s.frame = newFrame(s.screen.View(), &s.h.spec.Composer)
	s.verdict = s.h.spec.read(s.frame)
	if s.verdict.dialog != nil {
		s.verdict.dialog.Fingerprint = s.dialogs.fingerprint(s.verdict.dialog, now)
	} else if s.verdict.state != "" {
		s.dialogs.gone()
	}
	if s.verdict.state.Working() || s.verdict.dialog != nil {
		s.worked++
	}
	next := s.judge(now)
	s.wakeLookers()
	return next
}

// present brings the reading up to date with the newest whole picture.
func (s *session) present(ctx context.Context) error {
	for {
		s.mu.Lock()
		now := time.Now()
		s.lookLocked(now)
		wait, looked := s.halfDone(now), s.looked
		s.mu.Unlock()
		if wait == 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-looked:
			timer.Stop()
			return nil
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (s *session) wakeLookers() {
	close(s.looked)
	s.looked = make(chan struct{})
}

// judge combines the witnesses and returns when to judge again.
func (s *session) judge(now time.Time) time.Duration {
	again := s.recognise(now)
	if s.verdict.state == "" && !s.status.speaks() {
		return again
	}
	note, lapses := s.status.weigh(s.verdict.state, now)
	if note != "" {
		s.log.Add(coleo.Change{Time: now, Kind: coleo.ChangeLapse, Reading: s.reading, Note: note})
	}
	again = min(again, lapses)
	next := coleo.Reading{State: s.verdict.state, Rule: s.verdict.rule, Detail: s.verdict.detail, Dialog: s.verdict.dialog}
	if w := s.status.state(); w != "" && coleo.MoreCautious(next.State, w) != next.State {
		next.State, next.Rule = w, s.status.rule()
	}
	if next.State == "" {
		return again
	}
	next.Known = s.verdict.state != ""
	return min(again, s.settle(now, next))
}

// recognise keeps account of a screen that no rule knows.
func (s *session) recognise(now time.Time) time.Duration {
	if s.verdict.state != "" {
		s.unknown, s.reported = time.Time{}, false
		return idleLook
	}
	if s.unknown.IsZero() {
		s.unknown = now
	}
	s.reading.Known = false
	bound := ms(s.h.spec.Timing.Unknown)
	if s.reading.State == coleo.Initializing {
		bound = ms(s.h.spec.Timing.Start)
	}
	if left := bound - now.Sub(s.unknown); left > 0 {
		return left
	}
	if !s.reported {
		s.reported = true
		view := s.screen.View()
		s.log.Add(coleo.Change{
			Time: now, Kind: coleo.ChangeUnrecognised, Reading: s.reading, Screen: &view,
			Note: fmt.Sprintf("no rule of %s knows this screen since %s", s.h.spec.Name, coleo.Age(now.Sub(s.unknown))),
		})
	}
	return idleLook
}

// settle lets work and questions through at once, and idle and error only when
// they have held for the settling time and no prompt is on its way.
func (s *session) settle(now time.Time, next coleo.Reading) time.Duration {
	if s.fresh && s.reading.State == coleo.Initializing && next.State.Working() {
		return idleLook // some agent CLIs look busy while they start
	}
	calm := next.State == coleo.Idle || next.State == coleo.Failed
	if !calm || next.State == s.reading.State {
		s.pending = time.Time{}
		s.become(now, next, "", nil)
		return idleLook
	}
	if s.hold {
		s.pending = time.Time{}
		return idleLook
	}
	if s.pending.IsZero() {
		s.pending = now
	}
	if left := ms(s.h.spec.Timing.Settle) - now.Sub(s.pending); left > 0 {
		return left
	}
	s.pending = time.Time{}
	s.become(now, next, "", nil)
	return idleLook
}

// become takes a new reading and tells of it when it says something new.
func (s *session) become(now time.Time, next coleo.Reading, note string, view *coleo.Screen) {
	last := s.reading
	next.Since = last.Since
	if next.State != last.State {
		next.Since = now
	}
	s.reading = next
	if next.State == last.State && next.Detail == last.Detail && fingerprintOf(next.Dialog) == fingerprintOf(last.Dialog) {
		return
	}
	s.log.Add(coleo.Change{Time: now, Kind: coleo.ChangeState, From: last.State, Reading: next, Note: note, Screen: view})
	if next.State == coleo.Idle && last.State != coleo.Initializing {
		go s.findConversation()
	}
}

func fingerprintOf(d *coleo.Dialog) coleo.Fingerprint {
	if d == nil {
		return ""
	}
	return d.Fingerprint
}

// dialogCounter numbers the appearances of dialogs. Its epoch differs for
// every session object, because after a restart nobody can prove that a dialog
// is still the same appearance.
type dialogCounter struct {
	epoch string
	n     int
	open  string    // what the dialog on the screen says; "" without one
	since time.Time // of this appearance
}

func newDialogCounter() dialogCounter {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	return dialogCounter{epoch: hex.EncodeToString(b[:])}
}

func (c *dialogCounter) fingerprint(d *coleo.Dialog, now time.Time) coleo.Fingerprint {
	if text := saying(d); text != c.open {
		c.open, c.since = text, now
		c.n++
	}
	return coleo.Fingerprint(fmt.Sprintf("%s-%s-%d", c.open, c.epoch, c.n))
}

func (c *dialogCounter) gone() { c.open = "" }
