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
// Without a turn there is nothing to do.
func (s *session) Interrupt(ctx context.Context) error {
	s.typing.Lock()
	defer s.typing.Unlock()
	if err := s.present(ctx); err != nil {
		return err
	}
	reading := s.State()
	if !s.rules().Capabilities.Interrupt {
		return coleo.Errorf(coleo.EUnsupported, "%s cannot be interrupted", s.rules().Title)
	}
	if !reading.State.Working() && reading.State != coleo.WaitingApproval {
		return nil
	}
	if err := s.pressInterrupt(ctx); err != nil {
		return err
	}
	s.lapse()
	s.mu.Lock()
	s.sent = time.Time{} // there may be no work to be seen any more
	s.mu.Unlock()
	stopped := func() bool {
		return s.reading.State == coleo.Idle || s.reading.State == coleo.Failed
	}
	if !s.await(ctx, ms(s.rules().Timing.Interrupted), stopped) {
		return coleo.Errorf(coleo.ETimeout, "%s did not stop within %s of the interrupt", s.rules().Title, ms(s.rules().Timing.Interrupted))
	}
	return nil
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
		now, err := s.phase(limit)
		switch {
		case err != nil || now == phaseHalted:
			return ctx.Err()
		case now == phaseUnbegun:
			s.await(limit, heardTimeout, func() bool { return s.phaseOf(s.frame, s.verdict) != now })
			continue
		}
		key, most := keys[0], heardTimeout
		if now == phaseHeard {
			key, most = keys[len(keys)-1], haltTimeout
		}
		switch err := s.typeIf(limit, s.during(now), key); {
		case err == nil:
			s.await(limit, most, func() bool { return s.shown(now) })
		case limit.Err() == nil && coleo.ErrorCode(err) != coleo.EBusy:
			return err
		}
	}
	return ctx.Err()
}

// shown tells whether the screen shows that a key was read that was pressed in a
// phase. Behind the last one the mark of the first goes before the turn ends. The
// caller holds mu.
func (s *session) shown(was phase) bool {
	now := s.phaseOf(s.frame, s.verdict)
	return s.verdict.state != "" && (now == phaseHalted || now != was && now != phaseRunning)
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
func (s *session) phase(ctx context.Context) (now phase, err error) {
	err = s.still(ctx, func(f *frame, v verdict) error {
		if now = s.phaseOf(f, v); v.state == "" {
			return passing{coleo.Errorf(coleo.EUnrecognised, "no rule of %s knows the screen", s.rules().Name)}
		}
		return nil
	})
	return now, err
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
