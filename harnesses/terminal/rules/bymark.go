package rules

import "coleo.dev"

// byMark answers a dialog in two steps. It first moves the mark of the list to an
// option. It presses ENTER when it sees the mark at that option.
type byMark struct {
	back, on string // the keys that move the mark to a lower and to a higher index
}

// check makes sure that the mark must be seen. ENTER takes the marked option, so with a
// guessed mark ENTER could take another option.
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
