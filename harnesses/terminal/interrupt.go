package terminal

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// heardTimeout bounds how long the first key of an interrupt may take to show. After
	// that the key is pressed again. OpenCode 1.18.33 shows it within 40 ms.
	heardTimeout = time.Second
	// haltTimeout bounds how long an agent CLI may take to stop after the last key of an
	// interrupt. After that the interrupt begins anew. OpenCode 1.18.33 takes 0.1 s.
	haltTimeout = 3 * time.Second
)

// Interrupt stops the running turn. It denies an open dialog, which ends that turn.
// Without a turn it does nothing. On a screen that no rule knows it presses no key. The
// key that stops a turn might answer a question there, or end the agent CLI.
//
// The error is EUnsupported where the agent CLI cannot be interrupted, and EUnrecognised
// on an unknown screen. It is EExited after the agent CLI ended, and ETimeout when the
// turn did not stop in time.
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
	s.ExpectNoWork() // there may be no work left to be seen
	s.mu.Unlock()
	return s.stopped(ctx)
}

// mayInterrupt is the check that a rule knows the screen. The screen may be unknown when
// the agent CLI has ended, or was never given anything to do.
func (s *session) mayInterrupt(f *rules.Picture, v rules.Verdict) error {
	begins := s.Starting()
	if v.State != "" || begins || s.Reading().State == coleo.Dead {
		return nil
	}
	e := coleo.Errorf(coleo.EUnrecognised, "no rule of %s knows the screen: no key of the interrupt was pressed on it",
		s.rules().Name)
	e.Screen = &f.Screen
	return passing{e}
}

// stopped waits until the screen shows that an interrupt ended the turn.
func (s *session) stopped(ctx context.Context) error {
	limit := s.rules().Timing.Interrupted.Duration()
	calm := func() bool {
		return s.Reading().State == coleo.Idle || s.Reading().State == coleo.Failed
	}
	if s.await(ctx, limit, calm) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.Reading().State == coleo.Dead:
		return coleo.Errorf(coleo.EExited, "the agent CLI ended when it was interrupted")
	case s.Verdict().State == "":
		e := coleo.Errorf(coleo.EUnrecognised,
			"whether %s stopped cannot be told: no rule knows the screen %s behind the interrupt", s.rules().Title, limit)
		e.Screen = &s.Picture().Screen
		return e
	}
	return coleo.Errorf(coleo.ETimeout, "%s did not stop within %s of the interrupt", s.rules().Title, limit)
}

// pressInterrupt presses the keys of an interrupt. The harness may say what the screen
// shows between the first key and the last. Then the last key is pressed only once that
// shows, and the first one again until it does. No key is pressed once nothing runs.
func (s *session) pressInterrupt(ctx context.Context) error {
	names := s.rules().Keys.Interrupt
	keys, err := rules.KeySequence(names)
	if err != nil || len(s.rules().InterruptWhen) == 0 {
		return errors.Join(err, s.press(ctx, names))
	}
	limit, cancel := context.WithTimeout(ctx, s.rules().Timing.Interrupted.Duration())
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
			s.await(limit, most, func() bool { return s.shown(now, v.Dialog) })
		// EBusy and EStale say that the screen has changed: try again
		case limit.Err() == nil && code != coleo.EBusy && code != coleo.EStale:
			return err
		}
	}
	return ctx.Err()
}

// deny denies the dialog of a turn that is interrupted. Where the harness cannot deny it,
// deny presses a key of the interrupt.
func (s *session) deny(ctx context.Context, v rules.Verdict, key []byte) error {
	same := s.showing(v.Dialog.Fingerprint)
	err := s.choose(ctx, same, v, coleo.Decision{Choice: coleo.Deny})
	if coleo.ErrorCode(err) == coleo.EUnsupported {
		return s.typeIf(ctx, same, key)
	}
	return err
}

// shown reports whether the screen shows what a phase waited for. The caller holds mu.
func (s *session) shown(was phase, asked *coleo.Dialog) bool {
	now := s.phaseOf(s.Picture(), s.Verdict())
	switch {
	case s.Verdict().State == "":
		return false
	case was == phaseAsking && now == phaseAsking:
		return s.Verdict().Dialog.Fingerprint != asked.Fingerprint
	case was == phaseRunning || was == phaseUnbegun:
		return now != was
	}
	// The work ends later than the first key shows.
	return now == phaseHalted || now == phaseAsking
}

// phase is how far an interrupt has come.
type phase string

const (
	phaseUnbegun phase = "unbegun" // a prompt was submitted, and no work on it shows yet
	phaseRunning phase = "running"
	phaseAsking  phase = "asking" // a dialog is open
	phaseHeard   phase = "heard"  // the first key has been read
	phaseHalted  phase = "halted"
)

// phaseOf returns the phase that a picture shows. The caller holds mu.
func (s *session) phaseOf(f *rules.Picture, v rules.Verdict) phase {
	armed := f.Shows(s.rules().InterruptWhen)
	switch {
	case v.Dialog != nil:
		return phaseAsking
	case v.State.Working() && armed:
		return phaseHeard
	case v.State.Working():
		return phaseRunning
	case s.AwaitsWork():
		return phaseUnbegun
	}
	return phaseHalted
}

// phase waits for a picture that a rule knows, and returns the phase it shows.
func (s *session) phase(ctx context.Context) (now phase, v rules.Verdict, err error) {
	err = s.still(ctx, func(f *rules.Picture, seen rules.Verdict) error {
		now, v = s.phaseOf(f, seen), seen
		return s.mayInterrupt(f, seen)
	})
	return now, v, err
}

// during returns the check that the phase of an interrupt has not changed.
func (s *session) during(was phase) check {
	return func(f *rules.Picture, v rules.Verdict) error {
		if now := s.phaseOf(f, v); now != was {
			return coleo.Errorf(coleo.EBusy, "the interrupt is %s, no longer %s", now, was)
		}
		return nil
	}
}
