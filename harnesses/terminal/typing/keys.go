package typing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

// typeWindow is how long Coleo tries to type keys while the program keeps drawing. The holder refuses the
// keys each time the program has written output that the picture does not show yet.
const typeWindow = 3 * time.Second

// typeWhile types bytes only if checkPicture succeeds on the newest picture. If the program has written
// output that this picture does not show, the holder refuses the bytes. Then typeWhile begins again with a
// newer picture. It returns two things about the picture on which it typed the bytes: the result of
// checkPicture, and the session's offsets and cursor at that moment.
func typeWhile[T any](ctx context.Context, t *Typist, data []byte,
	checkPicture func(*reading.Reader) (T, error)) (found T, at At, err error) {
	return keysWhile(ctx, t, Keys{ID: coleo.NewUUID(), Data: data, IfSeen: true}, checkPicture)
}

// keysWhile is like typeWhile, for any Keys.
func keysWhile[T any](ctx context.Context, t *Typist, keys Keys,
	look func(*reading.Reader) (T, error)) (found T, at At, err error) {
	order := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, typeWindow,
		coleo.Errorf(coleo.EBusy, "the screen never held still for %s: nothing was typed", typeWindow))
	defer cancel()
	for {
		if found, at, err = find(ctx, t.view, look); err != nil {
			return found, at, err
		}
		if !at.UpdateOpen {
			keys.Seen = at.Offset
			if typed, err := t.view.Write(order, keys); err != nil || typed {
				return found, at, err
			}
		}
		if err := at.Wait(ctx); err != nil {
			return found, at, err
		}
	}
}

// sequenceWhile types keys one by one. Before each key, it calls checkPicture with the newest picture, and
// stops if checkPicture fails. For the last key, it returns the same values as typeWhile.
func sequenceWhile[T any](ctx context.Context, t *Typist, names string,
	checkPicture func(*reading.Reader) (T, error)) (found T, at At, err error) {
	keys, err := rules.KeySequence(names)
	for i, key := range keys {
		if found, at, err = typeWhile(ctx, t, key, checkPicture); err != nil {
			return found, at, afterKeys(err, i, len(keys))
		}
	}
	return found, at, err
}

// withoutResult turns a check into a function for typeWhile. This function succeeds if the check passes,
// and returns an empty result.
func withoutResult(ok Check) func(*reading.Reader) (struct{}, error) {
	return func(r *reading.Reader) (struct{}, error) { return struct{}{}, ok(r) }
}

// typeIf types bytes only if a check passes on the newest picture.
func (t *Typist) typeIf(ctx context.Context, ok Check, data []byte) error {
	_, _, err := typeWhile(ctx, t, data, withoutResult(ok))
	return err
}

// typeInside is like typeIf, for bytes that change an open dialog but do not answer it, such as a text for
// one of its options.
func (t *Typist) typeInside(ctx context.Context, ok Check, data []byte) error {
	_, _, err := keysWhile(ctx, t, Keys{ID: coleo.NewUUID(), Data: data, IfSeen: true, Inside: true}, withoutResult(ok))
	return err
}

// pressIf types keys one by one. Before each key, it runs the check, and stops if the check fails.
func (t *Typist) pressIf(ctx context.Context, names string, ok Check) error {
	_, _, err := sequenceWhile(ctx, t, names, withoutResult(ok))
	return err
}

// pressSlowlyIf is like pressIf, but waits between the keys for the time that the harness sets.
func (t *Typist) pressSlowlyIf(ctx context.Context, names string, ok Check) error {
	return t.eachKey(ctx, names, func(key []byte) error { return t.typeIf(ctx, ok, key) })
}

// press types keys one by one, and waits between them for the time that the harness sets. It does
// not check the screen, so it is only for keys that can do no harm.
func (t *Typist) press(ctx context.Context, names string) error {
	return t.eachKey(ctx, names, func(key []byte) error {
		_, err := t.view.Write(ctx, Keys{ID: coleo.NewUUID(), Data: key})
		return err
	})
}

// eachKey calls typeKey with each key of a sequence, and waits between the calls for the time that
// the harness sets.
func (t *Typist) eachKey(ctx context.Context, names string, typeKey func(key []byte) error) error {
	keys, err := rules.KeySequence(names)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if i > 0 {
			if err := pause(ctx, t.Spec().Timing.KeyGap.Duration()); err != nil {
				return afterKeys(err, i, len(keys))
			}
		}
		if err := typeKey(key); err != nil {
			return afterKeys(err, i, len(keys))
		}
	}
	return nil
}

// nothingTyped is part of most error messages of this package. If keys were typed, withDone replaces this
// part.
const nothingTyped = "nothing was typed"

// afterKeys changes the message of an error, so that it says how many keys of a sequence were typed.
func afterKeys(err error, typed, all int) error {
	if typed == 0 {
		return err
	}
	return withDone(err, fmt.Sprintf("only the first %d of %d keys were typed", typed, all))
}

// withDone returns the error with another message: the text `done` replaces nothingTyped.
func withDone(err error, done string) error {
	var e *coleo.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, nothingTyped) {
		return err
	}
	changed := *e
	changed.Message = strings.ReplaceAll(e.Message, nothingTyped, done)
	return &changed
}
