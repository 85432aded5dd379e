package terminal

import (
	"context"
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/pty"
)

const (
	// typeWindow bounds how long keys wait for a moment in which the screen
	// that they were meant for is still the newest.
	typeWindow = 3 * time.Second
	// typeRetry is how long one of those tries waits for the screen to catch up.
	typeRetry = 30 * time.Millisecond
)

// keySequence turns names of keys into what they send. Blanks separate the
// writes, + joins keys to one write, and a single character stands for itself:
// "y+ENTER" is one write, "ESCAPE ESCAPE" are two.
func keySequence(names string) ([][]byte, error) {
	var out [][]byte
	for group := range strings.FieldsSeq(names) {
		var keys []byte
		for name := range strings.SplitSeq(group, "+") {
			key, ok := pty.Key(name)
			if !ok && len(name) != 1 {
				return nil, fmt.Errorf("%q is not a key", name)
			}
			if !ok {
				key = []byte(name)
			}
			keys = append(keys, key...)
		}
		out = append(out, keys)
	}
	return out, nil
}

// press types keys one by one, with the harness's gap between them, whatever
// the screen shows meanwhile. Only keys that can do no harm are pressed so.
func (s *session) press(ctx context.Context, names string) error {
	keys, err := keySequence(names)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if i > 0 {
			if err := s.pause(ctx, ms(s.rules().Timing.KeyGap)); err != nil {
				return err
			}
		}
		if _, err := s.client.Write(holder.Write{ID: newUUID(), Kind: holder.WriteKeys, Data: key}); err != nil {
			return err
		}
	}
	return nil
}

// check says whether the picture is still the one that keys are meant for.
type check func(f *frame, v verdict) error

// typeIf types bytes only while check holds on the newest picture: the holder
// refuses them when there is output that this picture does not show yet, and
// then the newer picture is checked again. Half a picture proves nothing, for
// or against.
func (s *session) typeIf(ctx context.Context, ok check, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, typeWindow)
	defer cancel()
	id, began := newUUID(), time.Now()
	for {
		s.mu.Lock()
		now := time.Now()
		s.lookLocked(now)
		half, open, seen, looked := s.halfDone(now) > 0, s.screen.Frame().Open, s.end, s.looked
		err := ok(s.frame, s.verdict)
		s.mu.Unlock()
		redrawn := coleo.ErrorCode(err) == coleo.EUnrecognised && now.Sub(began) < knownTimeout
		if err != nil && !half && !redrawn {
			return err
		}
		if err == nil && !half && !open {
			w, err := s.client.Write(holder.Write{ID: id, Kind: holder.WriteKeys, SeenOffset: seen, OnlyIfEnd: true, Data: data})
			if err != nil || w.Applied || w.Duplicate {
				return err
			}
		}
		retry := time.NewTimer(typeRetry)
		select {
		case <-looked:
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return coleo.Errorf(coleo.EBusy, "the screen never held still for %s: nothing was typed", typeWindow)
		}
		retry.Stop()
	}
}

// still makes a check on the newest whole picture, without typing.
func (s *session) still(ctx context.Context, ok check) error {
	if err := s.present(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok(s.frame, s.verdict)
}

// await looks at each new picture until ok says so, and returns whether it did
// before the time was over.
func (s *session) await(ctx context.Context, limit time.Duration, ok func() bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		hit, looked, dead := ok(), s.looked, s.reading.State == coleo.Dead
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
