package rules

import (
	"slices"
	"strconv"
	"strings"

	"coleo.dev"
)

// tickIsDigit is the value of DialogRule.Tick that makes Coleo tick an option by typing its number.
const tickIsDigit = "digit"

// Ticking describes how to tick several options and then submit them.
type Ticking struct {
	Want []int  // the numbers of the options to tick, from 1; all other options are unticked
	Text string // the text for the free-text option; "" for none
	// Key is the key that ticks the marked option. It is "" if Coleo ticks each option with the number of
	// the option.
	Key        string
	SubmitKeys string // the keys that submit the ticks; "" if a row of the dialog submits them
}

// WantsIndex reports whether to tick the option with the given index, from 0.
func (s *Ticking) WantsIndex(i int) bool { return slices.Contains(s.Want, i+1) }

// ticks checks the keys of a dialog's rule for ticking options.
func (c *compiler) ticks(at string, d *DialogRule) {
	c.keys(at+"submit_keys", d.SubmitKeys)
	if d.submit != nil && d.submit.SubexpIndex("mark") < 0 {
		c.fail(at+"submit", "dialog %q: submit needs a group called mark", d.Name)
	}
	if d.Tick == "" {
		if d.submit != nil {
			c.fail(at+"submit", "dialog %q: submit needs tick", d.Name)
		}
		if d.SubmitKeys != "" {
			c.fail(at+"submit_keys", "dialog %q: submit_keys needs tick", d.Name)
		}
		return
	}
	if d.Tick != tickIsDigit {
		c.keys(at+"tick", d.Tick)
		d.Default = -1 // Coleo ticks the marked option, so it must see where the mark is
	}
	if d.option == nil || d.option.SubexpIndex("tick") < 0 {
		c.fail(at+"tick", "dialog %q: tick needs an option with a group called tick", d.Name)
	}
	if (d.submit == nil) == (d.SubmitKeys == "") {
		c.fail(at+"tick", "dialog %q: tick needs either submit or submit_keys", d.Name)
	}
	if d.SubmitKeys != "" && d.text == nil && d.more == nil {
		c.fail(at+"submit_keys", "dialog %q: submit_keys needs text or more, which show whether options are out of sight",
			d.Name)
	}
	if d.submit != nil && d.Tick == tickIsDigit {
		c.fail(at+"submit", "dialog %q: submit needs a key that ticks the marked option; with tick = %q use submit_keys",
			d.Name, tickIsDigit)
	}
}

// submitRow searches for the row that submits the ticks, and returns its mark as a value of
// optionRows.submit.
func (d *DialogRule) submitRow(rows []string) Tick {
	if d.submit == nil {
		return NoTick
	}
	for _, row := range rows {
		if m := d.submit.FindStringSubmatch(row); m != nil {
			return tickOf(m[d.submit.SubexpIndex("mark")], true)
		}
	}
	return NoTick
}

// SubmitMarked reports whether the mark of the list, such as "❯", is at the row that submits the ticks.
func (v Verdict) SubmitMarked() bool { return v.options.submit == Ticked }

// AllInSight reports whether the picture proves that no option is out of sight. A list that is
// submitted with keys needs this proof, because the keys submit all ticks. All of these must be true:
//
//   - The picture shows all known options, from number 1 on if they have numbers.
//   - No row matches `more`.
//   - If the rule has `text`, the free-text option is in sight. If the rule has `text` but not `more`, no
//     option below the free-text option has a box.
func (v Verdict) AllInSight() bool {
	if v.options.more || v.options.page {
		return false
	}
	if n := v.Numbers(); len(v.options.numbers) > 0 && (n == nil || n[0] != 1) {
		return false
	}
	n := v.Dialog.TextOption
	switch {
	case v.by.text == nil:
		return v.by.more != nil
	case n == 0:
		return false
	}
	hasBox := func(tick Tick) bool { return tick != NoTick }
	return v.by.more != nil || !slices.ContainsFunc(v.options.ticks[n:], hasBox)
}

// CheckInSight returns EUnsupported if the list is submitted with keys and options may be out of
// sight.
func (v Verdict) CheckInSight() error {
	if v.by.SubmitKeys == "" || v.AllInSight() {
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "options of the dialog %q may be out of sight, so nothing was submitted: "+
		"make the terminal higher, or answer the dialog by hand", v.Dialog.Title)
}

// Digit returns the key that ticks the option with the given index.
func (v Verdict) Digit(option int) (string, error) { return v.digit(option) }

// tickSteps returns the steps that tick several options.
func (v Verdict) tickSteps(d coleo.Decision) (Steps, error) {
	want := slices.Clone(d.Options)
	if d.Option > 0 {
		want = append(want, d.Option)
	}
	want = v.spreadAll(want)
	switch {
	case v.by.Tick == "":
		return Steps{}, coleo.Errorf(coleo.EUnsupported,
			"the dialog %q takes several options, and this harness cannot tick them: answer it by hand, or deny it",
			v.Dialog.Title)
	case len(want) == 0 && d.Words == "":
		return Steps{}, coleo.Errorf(coleo.EInvalid, "no option of the dialog %q was named, and Coleo "+
			"submits no list without ticks: deny the dialog, or answer it by hand", v.Dialog.Title)
	case d.Words != "" && (v.by.text == nil || v.by.Tick == tickIsDigit):
		return Steps{}, noText(v.Dialog)
	}
	if err := v.CheckInSight(); err != nil {
		return Steps{}, err
	}
	if err := v.checkWanted(want); err != nil {
		return Steps{}, err
	}
	s := &Ticking{Want: want, Text: d.Words, Key: v.by.Tick, SubmitKeys: v.by.SubmitKeys}
	if s.Key == tickIsDigit {
		s.Key = ""
	}
	return Steps{Ticking: s}, nil
}

// checkWanted returns EInvalid if an option with one of the given numbers does not exist, cannot be
// ticked, or takes a text. While the submit row is out of sight, the list may continue. checkWanted
// then accepts a number after the last visible option.
func (v Verdict) checkWanted(want []int) error {
	last := len(v.Dialog.Options)
	for _, n := range want {
		inSight := n >= 1 && n <= last
		if n < 1 || !inSight && (v.by.submit == nil || v.options.submit != NoTick) {
			return coleo.Errorf(coleo.EInvalid, "the dialog %q has options 1 to %d, not %d", v.Dialog.Title, last, n)
		}
		if inSight && v.options.ticks[n-1] == NoTick {
			return coleo.Errorf(coleo.EInvalid, "option %d of the dialog %q (%s) cannot be ticked", n,
				v.Dialog.Title, v.Dialog.Options[n-1])
		}
		if n == v.Dialog.TextOption {
			return coleo.Errorf(coleo.EInvalid, "option %d of the dialog %q takes a text: give the text instead", n,
				v.Dialog.Title)
		}
	}
	return nil
}

// ticksAll reports whether the option with the given label ticks all options above it.
func (d *DialogRule) ticksAll(label string) bool { return d.all != nil && d.all.MatchString(label) }

// spreadAll returns the wanted numbers. It replaces the number of an option that ticks all options
// above it by the numbers of those options.
func (v Verdict) spreadAll(want []int) (out []int) {
	for _, n := range want {
		if n < 1 || n > len(v.Dialog.Options) || !v.by.ticksAll(v.Dialog.Options[n-1]) {
			out = append(out, n)
			continue
		}
		for above := range n - 1 {
			out = append(out, above+1)
		}
	}
	return out
}

// takesOne reports whether a decision names exactly one option that must be chosen alone, because
// it cannot be ticked and does not tick other options.
func (v Verdict) takesOne(d coleo.Decision) bool {
	n := d.Option
	return len(d.Options) == 0 && d.Words == "" && n >= 1 && n <= len(v.options.ticks) &&
		v.options.ticks[n-1] == NoTick && !v.by.ticksAll(v.Dialog.Options[n-1])
}

// fillText returns the steps for an answer in the user's own words. They type the words into the
// free-text option and choose it.
func (v Verdict) fillText(d coleo.Decision) (Steps, error) {
	n := v.Dialog.TextOption - 1
	switch {
	// If options are ticked with digits, Coleo sees no mark that it could move to the free-text option.
	case n < 0 && !v.options.more || v.by.text == nil || v.by.Tick == tickIsDigit:
		return Steps{}, noText(v.Dialog)
	case d.Option > 0 && d.Option != n+1, len(d.Options) > 0:
		return Steps{}, coleo.Errorf(coleo.EInvalid, "the dialog %q takes one answer: an option or a text", v.Dialog.Title)
	}
	return Steps{Option: n, Back: "UP", On: "DOWN", Text: d.Words}, nil
}

// checkText returns EInvalid if the text has a blank at one of its ends, or contains a character that cannot
// be printed, such as a line end.
func checkText(text string) error {
	if strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return coleo.Errorf(coleo.EInvalid, "the text %q must be one line without blanks around it and control characters",
			text)
	}
	return nil
}

// noText returns the error for a decision with a text on a dialog that accepts no text.
func noText(d *coleo.Dialog) error {
	return coleo.Errorf(coleo.EUnsupported,
		"the dialog %q takes no words: pick an option, or deny and send a prompt", d.Title)
}

// SameText reports whether two texts are equal without their blanks, because a terminal may have
// wrapped one of them.
func SameText(a, b string) bool { return squeeze(a) == squeeze(b) }
