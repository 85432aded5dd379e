package rules

import "coleo.dev"

// byKeys answers a dialog with the keys that the dialog's rule names for each choice.
// It picks no option by its number, unless the rule names exactly one.
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
		d.Choice = coleo.Approve // the only option is what the keys of approve do
	}
	keys := map[coleo.Choice]string{coleo.Approve: v.by.Approve, coleo.ApproveAlways: v.by.Always,
		coleo.Deny: v.by.Deny}[d.Choice]
	if keys == "" {
		return Steps{}, notOffered(v.Dialog, d)
	}
	return Steps{Keys: keys}, nil
}
