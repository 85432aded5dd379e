package typing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// tickTimeout is how long Coleo waits for the screen to show that an option was ticked or a text was
	// typed. Gemini CLI 0.61.0 takes 0.1 s, but more than 3 s if ten programs compete for each core.
	tickTimeout = 20 * time.Second
	// mostRows is the largest number of rows by which Coleo moves the mark, such as "❯", in one list. Nobody
	// ticks options in a longer list. In some lists, the mark jumps from the end to the beginning. Without
	// the limit, a search in such a list would never end.
	mostRows = 200
	// mostPasses is the largest number of passes through a list. The last pass must find nothing to change.
	// Because a tick can change other ticks, a second pass may have to correct the ticks of the first.
	mostPasses = 3
)

// ticker ticks the options of one dialog.
type ticker struct {
	*Typist
	rules.Ticking
	same   Check
	dialog coleo.Dialog // the dialog on the last picture
}

// listView is a list of options with ticks, as a picture shows it.
type listView struct {
	dialog coleo.Dialog
	ticks  []rules.Tick
	submit bool // the mark, such as "❯", is at the submit row
	// an error if the list has no submit row, and some of its options may be out of sight; else nil
	hidden error
}

// tickAll ticks the wanted options and submits them. It checks the newest picture before each key, and waits
// for the effect after each key. It submits only if exactly the wanted options are ticked. If tickAll fails
// before the submission, the error says that nothing was submitted, and which options are ticked.
func (t *Typist) tickAll(ctx context.Context, same Check, v rules.Verdict, how rules.Ticking) error {
	k := &ticker{Typist: t, Ticking: how, same: same, dialog: *v.Dialog}
	do := k.tickByMark
	if how.Key == "" {
		do = k.tickByDigits
	}
	err := do(ctx)
	var e *coleo.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	longer := *e
	longer.Message = fmt.Sprintf("nothing was submitted, %s: %s", k.tickedText(), e.Message)
	return withDone(&longer, "keys may have been typed before")
}

// tickedText returns a text for people about the ticked options.
func (k *ticker) tickedText() string {
	if d := peek(k.view, func(r *reading.Reader) *coleo.Dialog { return r.Verdict().Dialog }); d != nil &&
		d.Fingerprint == k.dialog.Fingerprint {
		k.dialog = *d
	}
	var names []string
	for _, n := range k.dialog.Ticked {
		names = append(names, fmt.Sprintf("%d (%s)", n, k.dialog.Options[n-1]))
	}
	if names == nil {
		return "no option is ticked"
	}
	return "ticked are " + strings.Join(names, ", ")
}

// readList returns the list of options on the newest picture.
func (k *ticker) readList(r *reading.Reader) (listView, error) {
	if err := k.same(r); err != nil {
		return listView{}, err
	}
	v := r.Verdict()
	return listView{*v.Dialog, v.Ticks(), v.SubmitMarked(), v.CheckInSight()}, nil
}

// awaitList waits for a complete picture, and returns the list of options on it.
func (k *ticker) awaitList(ctx context.Context) (listView, error) {
	l, _, err := find(ctx, k.view, k.readList)
	return l, err
}

// press types one key if the function mayType accepts the list on the newest picture. It then waits for a
// picture whose list the function hasWorked accepts. keyName is the name of the key in errors.
func (k *ticker) press(ctx context.Context, key, keyName string, mayType, hasWorked func(listView) bool) error {
	unchanged := func(r *reading.Reader) error {
		l, err := k.readList(r)
		if err == nil && !mayType(l) {
			return TransientError{coleo.Errorf(coleo.EStale, "the list has changed before %s", keyName)}
		}
		return err
	}
	err := k.eachKey(ctx, key, func(data []byte) error { return k.typeInside(ctx, unchanged, data) })
	if err != nil {
		return err
	}
	worked := k.view.Await(ctx, tickTimeout, func(r *reading.Reader) bool {
		l, err := k.readList(r)
		return err == nil && hasWorked(l)
	})
	if !worked {
		if _, err := k.awaitList(ctx); err != nil {
			return err
		}
		return coleo.Errorf(coleo.ETimeout, "%s had no effect within %s", keyName, tickTimeout)
	}
	return nil
}

// hasTick returns a function that reports whether an option has the given tick.
func hasTick(option int, tick rules.Tick) func(listView) bool {
	return func(l listView) bool { return option < len(l.ticks) && l.ticks[option] == tick }
}

// tickFor returns the tick that an option must have, and the opposite tick.
func (k *ticker) tickFor(option int) (want, other rules.Tick) {
	if k.WantsIndex(option) {
		return rules.Ticked, rules.Unticked
	}
	return rules.Unticked, rules.Ticked
}

// tickByDigits ticks options by typing their numbers. All options must be visible.
func (k *ticker) tickByDigits(ctx context.Context) error {
	l, err := k.awaitList(ctx)
	if err != nil {
		return err
	}
	for i, tick := range l.ticks {
		want, other := k.tickFor(i)
		if tick != other {
			continue
		}
		key, _, err := find(ctx, k.view, func(r *reading.Reader) (string, error) {
			if err := k.same(r); err != nil {
				return "", err
			}
			return r.Verdict().Digit(i)
		})
		if err != nil {
			return err
		}
		if err := k.press(ctx, key, fmt.Sprintf("the key %s", key), hasTick(i, other), hasTick(i, want)); err != nil {
			return err
		}
	}
	return k.pressSlowlyIf(ctx, k.SubmitKeys, func(r *reading.Reader) error {
		l, err := k.readList(r)
		switch i := l.dialog.Default; {
		case err != nil:
			return err
		case i >= 0 && !k.mayEnd(l, i): // submit keys would not submit the list at this option
			return coleo.Errorf(coleo.EUnsupported, "the mark is at option %d (%s), where keys do not submit", i+1,
				l.dialog.Options[i])
		}
		return k.checkTicks(l)
	})
}

// checkTicks returns an error in these cases:
//
//   - An option has a wrong tick.
//   - The free-text option does not contain k.Text.
//   - The list has no submit row, and an option may be out of sight.
func (k *ticker) checkTicks(l listView) error {
	if l.hidden != nil {
		return l.hidden
	}
	for i, tick := range l.ticks {
		if tick == rules.NoTick && k.WantsIndex(i) {
			return coleo.Errorf(coleo.EInvalid, "option %d (%s) cannot be ticked", i+1, l.dialog.Options[i])
		}
		if want, other := k.tickFor(i); tick == other && i != l.dialog.TextOption-1 {
			state := map[rules.Tick]string{rules.Ticked: "is not ticked", rules.Unticked: "is ticked"}[want]
			return coleo.Errorf(coleo.EStale, "option %d (%s) %s", i+1, l.dialog.Options[i], state)
		}
	}
	if n := slices.Max(append([]int{0}, k.Want...)); n > len(l.ticks) {
		return coleo.Errorf(coleo.EInvalid, "the dialog has options 1 to %d, not %d", len(l.ticks), n)
	}
	if !rules.SameText(l.dialog.Typed, k.Text) {
		return coleo.Errorf(coleo.EStale, "the option for a text holds %q", l.dialog.Typed)
	}
	if n := l.dialog.TextOption; k.Text != "" && (n == 0 || l.ticks[n-1] != rules.Ticked) {
		return coleo.Errorf(coleo.EStale, "the option for a text is not ticked")
	}
	return nil
}

// tickByMark moves the mark of the list, such as "❯", from option to option, and ticks the wanted options. It
// goes through the list until one pass changes nothing, which proves that all ticks are right. The mark is
// then at the place where the ticks are submitted, and tickByMark submits them.
func (k *ticker) tickByMark(ctx context.Context) error {
	for range mostPasses {
		changed, err := k.passOnce(ctx)
		if err != nil {
			return err
		}
		l, err := k.awaitList(ctx)
		if err == nil {
			err = k.checkTicks(l)
		}
		if err != nil {
			return err
		}
		if !changed {
			return k.submit(ctx)
		}
	}
	return coleo.Errorf(coleo.ETimeout, "the ticks change again and again")
}

// atEnd reports whether the mark, such as "❯", is at the place where the ticks are submitted. In a list with
// a submit row, this place is the submit row. In any other list, it is the last option at which submit keys
// may be pressed.
func (k *ticker) atEnd(l listView) bool {
	if k.SubmitKeys == "" {
		return l.submit
	}
	for i := len(l.ticks) - 1; i >= 0; i-- {
		if k.mayEnd(l, i) {
			return l.dialog.Default == i
		}
	}
	return false
}

// mayEnd reports whether submit keys may be pressed while the mark, such as "❯", is at the option with the
// index `i`. They may not in two cases. At an option without a box, such as "Cancel", ENTER would do
// something else. In an empty free-text option, the keys would become its text.
func (k *ticker) mayEnd(l listView, i int) bool {
	emptyText := k.Text == "" && i == l.dialog.TextOption-1
	return i < len(l.ticks) && l.ticks[i] != rules.NoTick && !emptyText
}

// submit presses the keys that submit the ticks. It does so only if the mark is at the right place and
// exactly the wanted options are ticked.
func (k *ticker) submit(ctx context.Context) error {
	if err := pause(ctx, k.Spec().Timing.DialogGap.Duration()); err != nil {
		return err
	}
	return k.pressSlowlyIf(ctx, cmp.Or(k.SubmitKeys, "ENTER"), func(r *reading.Reader) error {
		l, err := k.readList(r)
		switch {
		case err != nil:
			return err
		case !k.atEnd(l):
			return coleo.Errorf(coleo.EStale, "the mark has left the row that submits")
		}
		return k.checkTicks(l)
	})
}

// passOnce moves the mark, such as "❯", to the first option, and from there down to the place where the ticks
// are submitted. It ticks the wanted options on the way. It reports whether it changed a tick or a text.
func (k *ticker) passOnce(ctx context.Context) (changed bool, err error) {
	if err := k.moveUntil(ctx, "UP", func(l listView) bool { return !l.submit && l.dialog.Default == 0 }); err != nil {
		return false, err
	}
	for range mostRows {
		l, err := k.awaitList(ctx)
		if err != nil || l.submit {
			return changed, err
		}
		did, err := k.tickMarked(ctx, l)
		if changed = changed || did; err != nil || k.atEnd(l) {
			return changed, err
		}
		if err := k.move(ctx, "DOWN", l); err != nil {
			return changed, err
		}
	}
	return changed, coleo.Errorf(coleo.ETimeout, "the row that submits was not found")
}

// tickMarked sets the tick or the text of the marked option.
func (k *ticker) tickMarked(ctx context.Context, l listView) (changed bool, err error) {
	i := l.dialog.Default
	at := func(l listView) bool { return !l.submit && l.dialog.Default == i }
	if i < 0 || i >= len(l.ticks) {
		return false, coleo.Errorf(coleo.EUnsupported, "which option is marked cannot be seen")
	}
	if i == l.dialog.TextOption-1 {
		return k.fill(ctx, l, at)
	}
	want, other := k.tickFor(i)
	if l.ticks[i] != other {
		return false, nil
	}
	if err := pause(ctx, k.Spec().Timing.DialogGap.Duration()); err != nil {
		return false, err
	}
	return true, k.press(ctx, k.Key, fmt.Sprintf("the key %s at option %d", k.Key, i+1),
		func(l listView) bool { return at(l) && hasTick(i, other)(l) }, hasTick(i, want))
}

// fill types the text into the marked option, which must be the free-text option. It does not tick this
// option with the tick key, because in some agent CLIs that key submits the text.
func (k *ticker) fill(ctx context.Context, l listView, at func(listView) bool) (changed bool, err error) {
	if rules.SameText(l.dialog.Typed, k.Text) {
		return false, nil
	}
	if l.dialog.Typed != "" {
		return false, coleo.Errorf(coleo.EStale, "the option for a text already holds %q", l.dialog.Typed)
	}
	if err := pause(ctx, k.Spec().Timing.DialogGap.Duration()); err != nil {
		return false, err
	}
	err = k.typeInside(ctx, func(r *reading.Reader) error {
		l, err := k.readList(r)
		if err == nil && (!at(l) || l.dialog.Typed != "") {
			return TransientError{coleo.Errorf(coleo.EStale, "the list has changed before the text was typed")}
		}
		return err
	}, []byte(k.Text))
	if err != nil {
		return false, err
	}
	if err := k.awaitText(ctx, k.same, k.Text); err != nil {
		return true, err
	}
	// Wait for the tick: on a loaded machine, Qwen Code 0.24.4 draws the text 0.1 s before the tick.
	k.view.Await(ctx, tickTimeout, func(r *reading.Reader) bool {
		l, err := k.readList(r)
		n := l.dialog.TextOption
		return err != nil || n > 0 && hasTick(n-1, rules.Ticked)(l)
	})
	return true, nil
}

// awaitText waits until the dialog shows a typed text.
func (t *Typist) awaitText(ctx context.Context, same Check, text string) error {
	shown := t.view.Await(ctx, tickTimeout, func(r *reading.Reader) bool {
		return same(r) == nil && rules.SameText(r.Verdict().Dialog.Typed, text)
	})
	if !shown {
		return coleo.Errorf(coleo.ETimeout, "the dialog does not show the typed text within %s", tickTimeout)
	}
	return nil
}

// moveUntil moves the mark, such as "❯", with the given key until `arrived` accepts the newest picture.
func (k *ticker) moveUntil(ctx context.Context, key string, arrived func(listView) bool) error {
	for range mostRows {
		l, err := k.awaitList(ctx)
		if err != nil || arrived(l) {
			return err
		}
		if err := k.move(ctx, key, l); err != nil {
			return err
		}
	}
	return coleo.Errorf(coleo.ETimeout, "the mark of the list did not arrive")
}

// mostMoves is the largest number of times that Coleo presses a key to move the mark, such as "❯", once.
// Gemini CLI 0.61.0 loses keys while it draws. Coleo presses the key again only if the screen shows that the
// mark has not moved.
const mostMoves = 3

// move moves the mark, such as "❯", by one row. oldList is the list before the move. If the mark is at the
// free-text option, move first waits. Gemini CLI 0.61.0 loses a key that comes right after the mark has
// reached this option.
func (k *ticker) move(ctx context.Context, key string, oldList listView) (err error) {
	if n := oldList.dialog.TextOption; n > 0 && oldList.dialog.Default == n-1 && !oldList.submit {
		if err := pause(ctx, k.Spec().Timing.DialogGap.Duration()); err != nil {
			return err
		}
	}
	for range mostMoves {
		if err = k.moveOnce(ctx, key, oldList); coleo.ErrorCode(err) != coleo.ETimeout {
			return err
		}
	}
	return err
}

func (k *ticker) moveOnce(ctx context.Context, key string, from listView) error {
	unmoved := func(l listView) bool { return l.submit == from.submit && l.dialog.Default == from.dialog.Default }
	return k.press(ctx, key, "the key "+key, unmoved, func(l listView) bool {
		return !unmoved(l) && (l.submit || l.dialog.Default >= 0)
	})
}
