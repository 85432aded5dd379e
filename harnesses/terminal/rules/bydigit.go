package rules

import (
	"strconv"

	"coleo.dev"
)

// byDigit answers a dialog by typing the number that is shown before an option. The
// number answers without ENTER.
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

// digit returns the key that picks an option: the number shown before it. In a list
// that has scrolled, this number differs from the option's place in the list.
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
