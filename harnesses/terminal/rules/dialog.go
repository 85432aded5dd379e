package rules

import (
	"regexp"
	"slices"

	"coleo.dev"
)

// DialogRule says how to recognise a dialog, where its parts are, and which keys answer it.
// Most fields are patterns. Their comments say what a pattern matches.
type DialogRule struct {
	Name  string `toml:"name"`
	Kind  string `toml:"kind"`
	When  []Cond `toml:"when"`
	Strip string `toml:"strip"` // cut off each row first
	// Title matches the row with the question. The search goes from the bottom up. The
	// title is the first group, or the whole match without a group. On a narrow terminal
	// it may continue on the next rows.
	Title string `toml:"title"`
	// Block replaces Title: the title is the whole paragraph above the numbered options,
	// whatever it says.
	Block   bool   `toml:"block"`
	Top     string `toml:"top"`     // the row above the dialog
	Subject string `toml:"subject"` // "above" or "below" the title
	// Cut holds when the subject continues beyond the rows on the screen. Without Cut, a
	// row that ends with … means that.
	Cut []Cond `toml:"cut"`
	// Draft holds while the subject is not drawn yet. The dialog's text is then published
	// when it is complete, or after 3 s as cut off.
	Draft   []Cond   `toml:"draft"`
	Gutter  string   `toml:"gutter"`  // what stands before the text in the subject's rows: a bar, line numbers
	Changed string   `toml:"changed"` // a changed row, if the subject is a diff; its last group is the sign
	Option  string   `toml:"option"`  // an option's row; groups mark, number, label
	Heading bool     `toml:"heading"` // where no Title is found, the title is the first row below Top
	Options []string `toml:"options"` // the options, when they are always the same
	// Choice matches each option, when the options are after the title. Its groups
	// together are the label.
	Choice   string `toml:"choice"`
	Chosen   string `toml:"chosen"`    // the text after those options: its group is the label of the marked one
	End      string `toml:"end"`       // the row after options or subject
	Default  int    `toml:"default"`   // 0-based, when Option has no mark
	Mark     string `toml:"mark"`      // "background" when only the background shows which of Options is marked
	Select   string `toml:"select"`    // "digit", "arrows", "row" (arrows to the left and right) or "keys"
	Approve  string `toml:"approve"`   // pattern of the option, or keys with Select = "keys"
	Always   string `toml:"always"`    // the same for approve_always
	Deny     string `toml:"deny"`      // the same for deny
	DenyKeys string `toml:"deny_keys"` // keys that deny whatever the options are

	strip, title, top, option, end *regexp.Regexp
	choice, chosen                 *regexp.Regexp
	gutter, changed                *regexp.Regexp
	approve, always, deny          *regexp.Regexp
	answers                        answerer // the style that Select names
}

// dialogKinds are the kinds that a dialog may have.
var dialogKinds = []coleo.DialogKind{
	coleo.DialogPermission, coleo.DialogQuestion, coleo.DialogTrust, coleo.DialogLogin,
	coleo.DialogPlan, coleo.DialogUpdate, coleo.DialogOther,
}

func (c *compiler) dialog(path string, d *DialogRule) {
	at := path + "."
	c.plain(at+"name", d.Name)
	if d.Kind == "" {
		d.Kind = string(coleo.DialogOther)
	}
	if !slices.Contains(dialogKinds, coleo.DialogKind(d.Kind)) {
		c.fail(at+"kind", "dialog %q: kind must be one of %q, not %q", d.Name, dialogKinds, d.Kind)
	}
	c.selects(at, d)
	if d.Mark != "" && d.Mark != "background" {
		c.fail(at+"mark", "dialog %q: mark must be background, not %q", d.Name, d.Mark)
	}
	c.keys(at+"deny_keys", d.DenyKeys)
	c.conds(at+"when", d.Name, d.When)
	c.regexps(at, map[string]pattern{
		"strip": {d.Strip, &d.strip}, "title": {d.Title, &d.title}, "top": {d.Top, &d.top}, "option": {d.Option, &d.option},
		"end": {d.End, &d.end}, "gutter": {d.Gutter, &d.gutter}, "changed": {d.Changed, &d.changed},
		"choice": {d.Choice, &d.choice}, "chosen": {d.Chosen, &d.chosen},
	})
	if d.option != nil && d.option.SubexpIndex("label") < 0 {
		c.fail(at+"option", "dialog %q: option needs a group called label", d.Name)
	}
	for key, list := range map[string][]Cond{"cut": d.Cut, "draft": d.Draft} {
		if len(list) > 0 {
			c.conds(at+key, d.Name, list)
		}
	}
	if d.Block && (d.option == nil || d.option.SubexpIndex("number") < 0) {
		c.fail(at+"block", "dialog %q: block needs an option with a group called number", d.Name)
	}
	if d.Heading && d.top == nil {
		c.fail(at+"heading", "dialog %q: heading needs a top", d.Name)
	}
	if d.title == nil && !d.Block && !d.Heading {
		c.fail(path, "dialog %q needs a title", d.Name)
	}
}
