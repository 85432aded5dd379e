package terminal

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder"
)

const (
	// typeWindow bounds how long keys wait for a moment in which the screen that they
	// were meant for is still the newest.
	typeWindow = 3 * time.Second
	// typeRetry is how long one of those tries waits for the screen to catch up.
	typeRetry = 30 * time.Millisecond
	// knownTimeout is how long keys wait on a screen that no rule knows. The agent CLI
	// may be redrawing it for another size.
	knownTimeout = time.Second
)

// press types keys one by one, with the harness's gap between them. It does not check the
// screen, so it is only for keys that can do no harm.
func (s *session) press(ctx context.Context, names string) error {
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
		if _, err := s.write(ctx, holder.Write{ID: coleo.NewUUID(), Kind: holder.WriteKeys, Data: key}); err != nil {
			return err
		}
	}
	return nil
}

// write sends keys to the program, as long as the caller still wants them sent. The
// holder checks that limit once more: it does not type keys that were on their way while
// this process or the holder was stopped.
//
// write also notes keys that may answer a dialog. After such keys the next dialog may
// have the same words.
func (s *session) write(ctx context.Context, w holder.Write) (holder.Wrote, error) {
	if err := coleo.Wanted(ctx); err != nil {
		return holder.Wrote{}, unwanted{err}
	}
	if left, bounded := coleo.Left(ctx); bounded {
		w.TypeWithin(left)
	}
	s.mu.Lock()
	news := s.NoteKeys(w.Data)
	s.mu.Unlock()
	wrote, err := s.client.Write(w)
	if err == nil && !wrote.Applied && !wrote.Duplicate && news {
		s.mu.Lock()
		s.KeysRefused()
		s.mu.Unlock()
	}
	return wrote, err
}

// unwanted is the error for keys that were not typed because nobody waits for them any
// longer.
type unwanted struct{ error }

func (u unwanted) Unwrap() error { return u.error }

// check returns nil when the picture is still the one that keys are meant for.
type check func(f *rules.Picture, v rules.Verdict) error

// passing is a check's error for a picture that may show a screen being redrawn.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

// typeIf types bytes only while check passes on the newest picture. The holder refuses
// the bytes when there is output that this picture does not show yet. Then the newer
// picture is checked.
func (s *session) typeIf(ctx context.Context, ok check, data []byte) error {
	order := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, typeWindow,
		coleo.Errorf(coleo.EBusy, "the screen never held still for %s: nothing was typed", typeWindow))
	defer cancel()
	w := holder.Write{ID: coleo.NewUUID(), Kind: holder.WriteKeys, OnlyIfEnd: true, Data: data}
	for {
		var open bool
		var looked chan struct{}
		err := s.still(ctx, func(f *rules.Picture, v rules.Verdict) error {
			w.SeenOffset, open, looked = s.End(), s.UpdateOpen(), s.looked
			return ok(f, v)
		})
		if err != nil {
			return err
		}
		if !open {
			if wrote, err := s.write(order, w); err != nil || wrote.Applied || wrote.Duplicate {
				return err
			}
		}
		if err := wait(ctx, looked); err != nil {
			return err
		}
	}
}

// still runs a check on the newest whole picture: half of a picture proves nothing. It
// waits for a screen that is being redrawn, at most knownTimeout.
func (s *session) still(ctx context.Context, ok check) error {
	began := time.Now()
	for {
		s.mu.Lock()
		now := time.Now()
		s.lookLocked(now)
		half, err, looked := s.UntilWhole(now) > 0, ok(s.Picture(), s.Verdict()), s.looked
		s.mu.Unlock()
		if !half {
			var p passing
			switch {
			case !errors.As(err, &p):
				return err
			case now.Sub(began) >= knownTimeout:
				return p.error
			}
		}
		if err := wait(ctx, looked); err != nil {
			return err
		}
	}
}

// wait waits for the next look at the screen, at most typeRetry.
func wait(ctx context.Context, looked <-chan struct{}) error {
	retry := time.NewTimer(typeRetry)
	defer retry.Stop()
	select {
	case <-looked:
	case <-retry.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// await calls ok on each new picture until it returns true, and reports whether it did
// within limit. await holds mu while it calls ok. await stops waiting when the agent CLI
// ends or ctx is cancelled.
func (s *session) await(ctx context.Context, limit time.Duration, ok func() bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		hit, looked, dead := ok(), s.looked, s.Reading().State == coleo.Dead
		s.mu.Unlock()
		if hit || dead {
			return hit
		}
		select {
		case <-looked:
		case <-timer.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			return ok()
		case <-ctx.Done():
			return false
		}
	}
}

func (s *session) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
