package rules

import (
	"regexp"
	"slices"

	"coleo.dev"
)

// DialogRule says how to recognise a dialog, where its parts are, and which keys answer it.
//
// What it reads is of two kinds. The kind, the title, the subject and the options are the
// dialog's identity. Its fingerprint is made of them (contentHash in package reading), so
// other text there makes another dialog, and an answer to the earlier one is refused. The
// marked option is state: it may change while the dialog stays the same. A rule keeps
// state such as a mark, a tick, a cursor or typed text out of the patterns of its
// identity.
type DialogRule struct {
	// The name of the rule. `coleo harness explain` shows it. A rule replaces that of the
	// base with the same name.
	Name string `toml:"name"`
	// What the dialog is about: `permission`, `question`, `trust`, `login`, `plan`, `update`
	// or `other`. It is part of the dialog's identity. The first two and `plan` are for
	// dialogs that come only from work on a prompt.
	Kind string `toml:"kind"`
	// The conditions, 1 to 16, which must all hold.
	When []Cond `toml:"when"`
	// What is removed from each row before the patterns below look at it, such as a frame:
	// `^│ | *│$`.
	Strip patternText `toml:"strip"`

	// Identity: the title, the subject and the options. Kind is part of it too.

	// The row with the question, searched from the bottom up: `^  (Do you want to .*\?)$`.
	// The title is the first group, or the whole match without a group. In a narrow
	// terminal Coleo joins the rows of a title. The title is part of the dialog's identity.
	// One of `title`, `block` and `heading` is required.
	Title patternText `toml:"title"`
	// Whether the title is the whole paragraph above the numbered options, whatever it
	// says. It replaces `title`, and needs the group `number` in `option`.
	Block bool `toml:"block"`
	// Whether the title is the first row below `top`, if no `title` is found. It needs
	// `top`.
	Heading bool `toml:"heading"`
	// The row above the dialog: `^  Permission required`. The subject begins below it.
	// Without `top` the subject is the one row above the title.
	Top patternText `toml:"top"`
	// Where the command or the file is that the dialog is about: `above` or `below` the
	// title. The subject is part of the dialog's identity. Without this key there is none.
	Subject string `toml:"subject"`
	// The row of an option, below the title:
	// `^(?P<mark>❯| ) (?P<number>\d)\. (?P<label>.*)$`. The group `label` is required, and
	// is part of the dialog's identity. So a tick that comes and goes must stay outside it.
	// The group `mark` is state: it shows something for the marked option, and blanks for
	// the others. The group `number` is what a digit types.
	Option patternText `toml:"option"`
	// The labels of the options, if they are always the same: `["Yes", "No"]`. They replace
	// `option`, and are part of the dialog's identity.
	Options []string `toml:"options"`
	// Each option on the title's own row: `\((\w)\)([^/\[]*)`. Its groups together are the
	// label, which is part of the dialog's identity.
	Choice patternText `toml:"choice"`
	// The row after the options or the subject: `^ Esc to cancel`.
	End patternText `toml:"end"`

	// State: which option is marked. The fingerprint ignores it.

	// The text that names the marked one of the options of `choice`: `\[(Yes|No)\]: ?$`. Its
	// group is the label.
	Chosen patternText `toml:"chosen"`
	// The option that is marked, counted from 0, if no mark is found. Without this key it is
	// the first one. -1 means that none is known. With `arrows` and `row` the mark must be
	// seen, and the key has no effect.
	Default int `toml:"default"`
	// `background`, if only a background colour shows which of `options` is marked. The
	// options must be on one row.
	Mark string `toml:"mark"`

	// Completeness: whether the screen shows the whole subject.

	// What the screen shows if the subject continues beyond its rows. Without it, a row that
	// ends with `…` means that. A subject is also cut off if `top` is out of sight.
	Cut []Cond `toml:"cut"`
	// What the screen shows while the subject is not drawn yet. Coleo then reports the
	// dialog when it is complete, or after 3 s as cut off.
	Draft []Cond `toml:"draft"`
	// What stands before the text in the rows of the subject, such as line numbers or a bar:
	// `^ *\d+ `. Coleo removes it from the title of a `block`. It also removes it to compare
	// the rows with what a hook reports.
	Gutter patternText `toml:"gutter"`
	// A changed row, if the subject is a diff: `^ *\d+ ([-+])`. The last group is the sign.
	// Coleo compares only such rows with what a hook reports.
	Changed patternText `toml:"changed"`

	// Answers.

	// How an option is picked. `digit` types the number before the option, without `ENTER`.
	// `arrows` moves the mark with `UP` and `DOWN` and then presses `ENTER`. `row` does so
	// with `LEFT` and `RIGHT`. `keys` picks no option: it presses the keys of `approve`,
	// `always` and `deny`. The key is required.
	Select string `toml:"select"`
	// The label of the option that approves: `^Yes$`. With `select = "keys"` these are the
	// keys that approve: `ENTER`.
	Approve string `toml:"approve"`
	// The same as `approve`, for an approval that also holds for later questions.
	Always string `toml:"always"`
	// The same as `approve`, for a denial.
	Deny string `toml:"deny"`
	// Keys that deny the dialog, whatever its options are: `ESCAPE`. They replace `deny`.
	DenyKeys keysText `toml:"deny_keys"`

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
		"strip": {d.Strip, &d.strip}, "title": {d.Title, &d.title}, "top": {d.Top, &d.top},
		"option": {d.Option, &d.option},
		"end":    {d.End, &d.end}, "gutter": {d.Gutter, &d.gutter}, "changed": {d.Changed, &d.changed},
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
