package rules

import (
	"regexp"
	"strconv"

	"coleo.dev"
)

// Steps is how a decision on a dialog is typed. It is either a sequence of keys, or a mark
// that must be moved to an option before ENTER.
type Steps struct {
	Keys     string // for KeySequence; "" if the mark must be moved
	Option   int    // index of the option, from 0
	Back, On string // the keys that move the mark to a lower and to a higher index
}

// Respond returns how a decision on the dialog is typed. The error is EUnsupported for a
// decision that the dialog does not offer, and EInvalid for an option that does not
// exist. The picture must show a dialog.
func (v Verdict) Respond(d coleo.Decision) (Steps, error) {
	if d.Words != "" {
		return Steps{}, coleo.Errorf(coleo.EUnsupported,
			"the dialogs of an agent CLI in a terminal take no words: pick an option, or deny and send a prompt")
	}
	if d.Choice == coleo.Deny && v.by.DenyKeys != "" {
		return Steps{Keys: v.by.DenyKeys}, nil
	}
	if v.by.Select == "keys" && d.Choice != coleo.Reply {
		keys := map[coleo.Choice]string{coleo.Approve: v.by.Approve, coleo.ApproveAlways: v.by.Always,
			coleo.Deny: v.by.Deny}[d.Choice]
		if keys == "" {
			return Steps{}, notOffered(v.Dialog, d)
		}
		return Steps{Keys: keys}, nil
	}
	n, err := v.by.optionFor(v.Dialog, d)
	if err != nil {
		return Steps{}, err
	}
	switch v.by.Select {
	case "digit":
		digit, err := v.digit(n)
		return Steps{Keys: digit}, err
	case "arrows":
		return Steps{Option: n, Back: "UP", On: "DOWN"}, nil
	case "row":
		return Steps{Option: n, Back: "LEFT", On: "RIGHT"}, nil
	}
	return Steps{}, notOffered(v.Dialog, d)
}

// digit returns the key that picks an option: the number shown before it. In a list that
// has scrolled, that number is not the option's place.
func (v Verdict) digit(n int) (string, error) {
	number := strconv.Itoa(n + 1)
	if n < len(v.numbers) {
		number = v.numbers[n]
	}
	if len(number) != 1 {
		return "", coleo.Errorf(coleo.EUnsupported,
			"option %q of the dialog %q has the number %s, which no key picks: nothing was typed", v.Dialog.Options[n],
			v.Dialog.Title, number)
	}
	return number, nil
}

// optionFor returns the index of the option that a decision means.
func (r *DialogRule) optionFor(d *coleo.Dialog, decision coleo.Decision) (int, error) {
	if decision.Choice == coleo.Reply {
		if n := decision.Option - 1; n >= 0 && n < len(d.Options) {
			return n, nil
		}
		return 0, coleo.Errorf(coleo.EInvalid, "the dialog %q has options 1 to %d, not %d", d.Title, len(d.Options),
			decision.Option)
	}
	pattern := map[coleo.Choice]*regexp.Regexp{coleo.Approve: r.approve, coleo.ApproveAlways: r.always,
		coleo.Deny: r.deny}[decision.Choice]
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
