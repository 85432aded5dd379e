package rules

import (
	"strconv"

	"coleo.dev"
)

// byDigit answers a dialog by typing the number that the dialog shows before an option.
// The number answers the dialog without ENTER.
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

// digit returns the key that picks the option with the index n. The key is the number that the
// dialog shows before the option. In a list that has scrolled, this number differs from the
// option's place in the list.
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

// byMark answers a dialog in two steps. First it moves the mark of the list to an
// option. When it sees the mark at that option, it presses ENTER.
type byMark struct {
	back, on string // the keys that move the mark to a lower and to a higher index
}

// check makes Coleo answer only if it sees the mark. ENTER takes the marked option. If Coleo
// guessed which option is marked, ENTER could take another option.
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

// byKeys answers a dialog with the keys that the dialog's rule names for approve, always and deny. If
// the rule lists several options, no key belongs to one of them. byKeys then refuses the number of an
// option.
type byKeys struct{}

func (byKeys) check(c *compiler, at string, d *DialogRule) {
	c.keys(at+"approve", d.Approve)
	c.keys(at+"always", d.Always)
	c.keys(at+"deny", d.Deny)
}

func (byKeys) steps(v Verdict, d coleo.Decision) (Steps, error) {
	if d.Choice == coleo.Reply {
		if _, err := v.by.optionFor(v.Dialog, d); err != nil {
			return Steps{}, err
		}
		if len(v.by.Options) != 1 {
			return Steps{}, notOffered(v.Dialog, d)
		}
		d.Choice = coleo.Approve // the keys of approve take the only option
	}
	keys := map[coleo.Choice]string{coleo.Approve: v.by.Approve, coleo.ApproveAlways: v.by.Always,
		coleo.Deny: v.by.Deny}[d.Choice]
	if keys == "" {
		return Steps{}, notOffered(v.Dialog, d)
	}
	return Steps{Keys: keys}, nil
}
