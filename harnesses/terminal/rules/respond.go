package rules

import (
	"regexp"
	"strconv"
	"strings"

	"coleo.dev"
)

// Steps describes how to type a decision on a dialog. It has one of three forms:
//
//   - Keys are typed.
//   - The mark of the list, such as "❯", is moved to an option, and ENTER is pressed.
//   - Several options are ticked, as Ticking describes.
type Steps struct {
	Keys     string // names of keys for KeySequence; "" if the mark must be moved
	Option   int    // index of the option, from 0; -1 if the option for Text is out of sight
	Back, On string // Back moves the mark to a lower index, and On moves it to a higher one
	Text     string // the text to type at the option before ENTER; "" for nothing
	// Ticking is set if several options are ticked. All other fields are then empty.
	Ticking *Ticking
}

// answerer is one style of answering a dialog. The key `select` of a dialog's rule names the style.
type answerer interface {
	// check compiles the keys of a dialog's rule that the style needs, and records an error if one is
	// wrong. The parameter `at` is the path of the rule, with a dot at its end.
	check(c *compiler, at string, d *DialogRule)
	// steps turns a decision on the verdict's dialog into keys. It returns one of these errors:
	//
	//   - EUnsupported if the style cannot type the decision, or if the dialog does not
	//     offer the decision
	//   - EInvalid if the option does not exist
	steps(v Verdict, d coleo.Decision) (Steps, error)
}

// answerStyle is a style and its name in harness.toml.
type answerStyle struct {
	name string
	answerer
}

// answerStyles contains every style. To add a style, write a type in this file, and add one line
// here.
var answerStyles = []answerStyle{
	{"digit", byDigit{}},
	{"arrows", byMark{back: "UP", on: "DOWN"}},
	{"row", byMark{back: "LEFT", on: "RIGHT"}},
	{"keys", byKeys{}},
}

// selects finds the style in a dialog's rule, and checks the keys that the style needs.
func (c *compiler) selects(at string, d *DialogRule) {
	var names []string
	for _, style := range answerStyles {
		if style.name == d.Select {
			d.answers = style.answerer
			d.answers.check(c, at, d)
			return
		}
		names = append(names, style.name)
	}
	last := len(names) - 1
	c.fail(at+"select", "dialog %q: select must be %s or %s, not %q", d.Name, strings.Join(names[:last], ", "),
		names[last], d.Select)
}

// Respond returns how to type a decision on the dialog. It returns one of these errors:
//
//   - EUnsupported if the dialog does not offer the decision, or if Coleo cannot type
//     the decision
//   - EInvalid if the decision names an option that does not exist, or does not fit the
//     dialog in another way
//
// The picture must show a dialog.
func (v Verdict) Respond(d coleo.Decision) (Steps, error) {
	if v.by.answers == nil {
		return Steps{}, coleo.Errorf(coleo.EUnsupported,
			"only a pack knows the dialog %q, and a pack holds no answers: name a key for it", v.Dialog.Title)
	}
	if d.Words != "" && d.Choice != coleo.ChoiceAnswer {
		return Steps{}, noText(v.Dialog)
	}
	if d.Choice == coleo.ChoiceDeny && v.by.DenyKeys != "" {
		return Steps{Keys: v.by.DenyKeys}, nil
	}
	if err := checkText(d.Words); err != nil {
		return Steps{}, err
	}
	switch {
	case d.Choice != coleo.ChoiceAnswer:
	case v.Dialog.Several && !v.takesOne(d):
		return v.tickSteps(d)
	case len(d.Options) > 1:
		return Steps{}, coleo.Errorf(coleo.EInvalid, "the dialog %q takes one option, not %d", v.Dialog.Title,
			len(d.Options))
	case len(d.Options) == 1 && d.Option == 0:
		d.Option, d.Options = d.Options[0], nil
	}
	if d.Words != "" {
		return v.fillText(d)
	}
	if d.Choice == coleo.ChoiceAnswer && d.Option > 0 && d.Option == v.Dialog.TextOption {
		return Steps{}, coleo.Errorf(coleo.EInvalid, "option %d of the dialog %q takes a text: give the text instead",
			d.Option, v.Dialog.Title)
	}
	return v.by.answers.steps(v, d)
}

// labels compiles the keys `approve`, `always` and `deny` of a dialog's rule. They are patterns that
// find the option for each choice. labels is for the styles that choose an option.
func (c *compiler) labels(at string, d *DialogRule) {
	c.regexps(at, map[string]pattern{"approve": {d.Approve, &d.approve}, "always": {d.Always, &d.always},
		"deny": {d.Deny, &d.deny}})
}

// optionFor returns the index of the option that fits a decision.
func (r *DialogRule) optionFor(d *coleo.Dialog, decision coleo.Decision) (int, error) {
	if decision.Choice == coleo.ChoiceAnswer {
		if n := decision.Option - 1; n >= 0 && n < len(d.Options) {
			return n, nil
		}
		return 0, coleo.Errorf(coleo.EInvalid, "the dialog %q has options 1 to %d, not %d", d.Title, len(d.Options),
			decision.Option)
	}
	pattern := map[coleo.Choice]*regexp.Regexp{coleo.ChoiceApprove: r.approve, coleo.ChoiceApproveAlways: r.always,
		coleo.ChoiceDeny: r.deny}[decision.Choice]
	for i, label := range d.Options {
		if pattern != nil && pattern.MatchString(label) {
			return i, nil
		}
	}
	return 0, notOffered(d, decision)
}

func notOffered(d *coleo.Dialog, decision coleo.Decision) error {
	return coleo.Errorf(coleo.EUnsupported, "the dialog %q does not offer %q; its options are %q", d.Title,
		decision.Choice, d.Options)
}

// byDigit answers a dialog by typing the number that the dialog shows before an option. The number
// answers the dialog without ENTER.
type byDigit struct{}

func (byDigit) check(c *compiler, at string, d *DialogRule) { c.labels(at, d) }

func (byDigit) steps(v Verdict, d coleo.Decision) (Steps, error) {
	if v.options.unnumbered {
		return byMark{back: "UP", on: "DOWN"}.steps(v, d)
	}
	n, err := v.by.optionFor(v.Dialog, d)
	if err != nil {
		return Steps{}, err
	}
	digit, err := v.digit(n)
	return Steps{Keys: digit}, err
}

// digit returns the key that chooses the option with the index n: the number that the dialog shows
// before the option. In a list that has scrolled, this number differs from the option's place in the
// list.
func (v Verdict) digit(n int) (string, error) {
	number := strconv.Itoa(n + 1)
	if n < len(v.options.numbers) {
		number = v.options.numbers[n]
	}
	if len(number) != 1 {
		return "", coleo.Errorf(coleo.EUnsupported,
			"option %q of the dialog %q has the number %s, which no key picks: nothing was typed", v.Dialog.Options[n],
			v.Dialog.Title, number)
	}
	return number, nil
}

// byMark moves the mark of the list, such as "❯", to an option. It presses ENTER when the screen shows the
// mark there.
type byMark struct {
	back, on string // `back` moves the mark to a lower index, and `on` moves it to a higher one
}

// check makes Coleo answer only if the screen shows the mark. ENTER chooses the marked option, so if
// Coleo guessed which option is marked, ENTER could choose another one.
func (byMark) check(c *compiler, at string, d *DialogRule) {
	c.labels(at, d)
	d.Default = -1
}

func (m byMark) steps(v Verdict, d coleo.Decision) (Steps, error) {
	n, err := v.by.optionFor(v.Dialog, d)
	if err != nil {
		return Steps{}, err
	}
	return Steps{Option: n, Back: m.back, On: m.on}, nil
}

// byKeys answers a dialog with the keys in `approve`, `always` and `deny` of the dialog's rule. If the
// rule lists several options, byKeys refuses a decision that names an option by its number, because no
// key belongs to a single option.
type byKeys struct{}

func (byKeys) check(c *compiler, at string, d *DialogRule) {
	c.keys(at+"approve", d.Approve)
	c.keys(at+"always", d.Always)
	c.keys(at+"deny", d.Deny)
}

func (byKeys) steps(v Verdict, d coleo.Decision) (Steps, error) {
	if d.Choice == coleo.ChoiceAnswer {
		if _, err := v.by.optionFor(v.Dialog, d); err != nil {
			return Steps{}, err
		}
		if len(v.by.Options) != 1 {
			return Steps{}, notOffered(v.Dialog, d)
		}
		d.Choice = coleo.ChoiceApprove // the dialog has only one option, and the keys for "approve" choose it
	}
	keys := map[coleo.Choice]string{coleo.ChoiceApprove: v.by.Approve, coleo.ChoiceApproveAlways: v.by.Always,
		coleo.ChoiceDeny: v.by.Deny}[d.Choice]
	if keys == "" {
		return Steps{}, notOffered(v.Dialog, d)
	}
	return Steps{Keys: keys}, nil
}
