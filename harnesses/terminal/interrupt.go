package terminal

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
)

const (
	// heardTimeout bounds how long the first key of an interrupt may take to show:
	// then it is pressed again. OpenCode 1.18.33 shows it within 40 ms.
	heardTimeout = time.Second
	// haltTimeout bounds how long an agent CLI may take to stop behind the last of
	// them: then it begins anew. OpenCode 1.18.33 takes 0.1 s.
	haltTimeout = 3 * time.Second
)

// Interrupt stops the running turn. A dialog is denied: that ends its turn.
// Without a turn there is nothing to do. On a screen that no rule knows no key is
// pressed: the one that stops a turn may answer what is asked there, or end the
// agent CLI. Errors: EUnsupported, EUnrecognised, EExited, ETimeout.
func (s *session) Interrupt(ctx context.Context) error {
	s.typing.Lock()
	defer s.typing.Unlock()
	if !s.rules().Capabilities.Interrupt {
		return coleo.Errorf(coleo.EUnsupported, "%s cannot be interrupted", s.rules().Title)
	}
	if err := s.still(ctx, s.mayInterrupt); err != nil {
		return err
	}
	if reading := s.State(); !reading.State.Working() && reading.State != coleo.WaitingApproval {
		return nil
	}
	if err := s.pressInterrupt(ctx); err != nil {
		return err
	}
	s.lapse()
	s.mu.Lock()
	s.sent = time.Time{} // there may be no work to be seen any more
	s.mu.Unlock()
	return s.stopped(ctx)
}

// mayInterrupt is the check that a rule knows the screen. Of an agent CLI that has
// ended, or was never told to do anything, it need not be known.
func (s *session) mayInterrupt(f *frame, v verdict) error {
	begins := s.reading.State == coleo.Initializing && s.fresh
	if v.state != "" || begins || s.reading.State == coleo.Dead {
		return nil
	}
	e := coleo.Errorf(coleo.EUnrecognised, "no rule of %s knows the screen: no key of the interrupt was pressed on it", s.rules().Name)
	e.Screen = &f.screen
	return passing{e}
}

// stopped waits until an interrupt is seen to have ended the turn.
func (s *session) stopped(ctx context.Context) error {
	limit := ms(s.rules().Timing.Interrupted)
	calm := func() bool {
		return s.reading.State == coleo.Idle || s.reading.State == coleo.Failed
	}
	if s.await(ctx, limit, calm) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.reading.State == coleo.Dead:
		return coleo.Errorf(coleo.EExited, "the agent CLI ended when it was interrupted")
	case s.verdict.state == "":
		e := coleo.Errorf(coleo.EUnrecognised, "whether %s stopped cannot be told: no rule knows the screen %s behind the interrupt", s.rules().Title, limit)
		e.Screen = &s.frame.screen
		return e
	}
	return coleo.Errorf(coleo.ETimeout, "%s did not stop within %s of the interrupt", s.rules().Title, limit)
}

// pressInterrupt presses the keys of an interrupt. Where the harness says what
// the screen shows between the first and the last, the last is pressed only
// then, the first again while it is not seen, and none once nothing runs.
func (s *session) pressInterrupt(ctx context.Context) error {
	names := s.rules().Keys.Interrupt
	keys, err := keySequence(names)
	if err != nil || len(s.rules().InterruptWhen) == 0 {
		return errors.Join(err, s.press(ctx, names))
	}
	limit, cancel := context.WithTimeout(ctx, ms(s.rules().Timing.Interrupted))
	defer cancel()
	for limit.Err() == nil {
		now, v, err := s.phase(limit)
		most := heardTimeout
		switch {
		case coleo.ErrorCode(err) == coleo.EUnrecognised:
			return err
		case err != nil || now == phaseHalted || s.State().State == coleo.Dead:
			return ctx.Err()
		case now == phaseAsking:
			err = s.deny(limit, v, keys[0])
		case now == phaseRunning:
			err = s.typeIf(limit, s.during(now), keys[0])
		case now == phaseHeard:
			most, err = haltTimeout, s.typeIf(limit, s.during(now), keys[len(keys)-1])
		}
		code := coleo.ErrorCode(err)
		switch {
		case err == nil:
			s.await(limit, most, func() bool { return s.shown(now, v.dialog) })
		case limit.Err() == nil && code != coleo.EBusy && code != coleo.EStale: // the screen has gone on
			return err
		}
	}
	return ctx.Err()
}

// deny denies the dialog of a turn that is interrupted, by a key of the interrupt
// where it knows no denial.
func (s *session) deny(ctx context.Context, v verdict, key []byte) error {
	same := s.showing(v.dialog.Fingerprint)
	err := s.choose(ctx, same, v, coleo.Decision{Choice: coleo.Deny})
	if coleo.ErrorCode(err) == coleo.EUnsupported {
		return s.typeIf(ctx, same, key)
	}
	return err
}

// shown tells whether the screen shows what was waited for in a phase. The caller
// holds mu.
func (s *session) shown(was phase, asked *coleo.Dialog) bool {
	now := s.phaseOf(s.frame, s.verdict)
	switch {
	case s.verdict.state == "":
		return false
	case was == phaseAsking && now == phaseAsking:
		return s.verdict.dialog.Fingerprint != asked.Fingerprint
	case was == phaseRunning || was == phaseUnbegun:
		return now != was
	}
	return now == phaseHalted || now == phaseAsking // what it was told to stop ends later than it shows that
}

// phase is how far an interrupt has come.
type phase string

const (
	phaseUnbegun phase = "unbegun" // a prompt was submitted, and no work on it is seen yet
	phaseRunning phase = "running"
	phaseAsking  phase = "asking" // a dialog is open
	phaseHeard   phase = "heard"  // the first key has been read
	phaseHalted  phase = "halted"
)

// phaseOf reads it from a picture. The caller holds mu.
func (s *session) phaseOf(f *frame, v verdict) phase {
	armed, _, _ := f.matchAll(s.rules().InterruptWhen)
	switch {
	case v.dialog != nil:
		return phaseAsking
	case v.state.Working() && armed:
		return phaseHeard
	case v.state.Working():
		return phaseRunning
	case !s.sent.IsZero():
		return phaseUnbegun
	}
	return phaseHalted
}

// phase waits for a picture that a rule knows, and returns what it shows.
func (s *session) phase(ctx context.Context) (now phase, v verdict, err error) {
	err = s.still(ctx, func(f *frame, seen verdict) error {
		now, v = s.phaseOf(f, seen), seen
		return s.mayInterrupt(f, seen)
	})
	return now, v, err
}

// during is the check that an interrupt is as far as it was.
func (s *session) during(was phase) check {
	return func(f *frame, v verdict) error {
		if now := s.phaseOf(f, v); now != was {
			return coleo.Errorf(coleo.EBusy, "the interrupt is %s, no longer %s", now, was)
		}
		return nil
	}
}
