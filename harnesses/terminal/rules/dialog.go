package rules

import (
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
)

// DialogRule describes how to recognize a dialog, where its parts are, and which keys
// answer it.
//
// What a rule reads from the screen is of two kinds: identity and state. The kind, the
// title, the subject and the options are the dialog's identity. Its fingerprint is made
// of these four parts (contentHash in package reading). If one of them changes, the
// dialog counts as another dialog. Coleo refuses an answer to the earlier dialog. The
// marked option is state: it may change, and the dialog is still the same. The patterns
// of the identity must not take in state, such as a mark, a tick, a cursor or typed
// text.
type DialogRule struct {
	// The name of the rule. `coleo harness explain` shows it. A rule replaces the rule
	// of the base with the same name.
	Name string `toml:"name"`
	// What the dialog is about: `permission`, `question`, `trust`, `login`, `plan`,
	// `update` or `other`. It is part of the dialog's identity. `permission`,
	// `question` and `plan` are for dialogs that only work on a prompt can open.
	Kind string `toml:"kind"`
	// The conditions, 1 to 16. All conditions must hold.
	When []Cond `toml:"when"`
	// What Coleo removes from each row before it applies the patterns below, such as a
	// frame: `^│ | *│$`.
	Strip patternText `toml:"strip"`

	// Identity: the title, the subject and the options. The kind is part of it too.

	// The pattern of the row with the question: `^ (Do you want to .*\?)$`. Coleo
	// searches it from the bottom of the screen up. The title is the first group, or
	// the whole match if there is no group. In a narrow terminal Coleo joins the rows
	// of a title. The title is part of the dialog's identity. One of `title`, `block`
	// and `heading` is required.
	Title patternText `toml:"title"`
	// Whether the title is the whole paragraph above the numbered options, whatever its
	// text is. It replaces `title`, and needs the group `number` in `option`.
	Block bool `toml:"block"`
	// Whether the title is the first row below `top`, if Coleo finds no `title`. This
	// key needs `top`.
	Heading bool `toml:"heading"`
	// The row above the dialog: `^ Permission required`. The subject begins below this
	// row. Without `top` the subject is the one row above the title.
	Top patternText `toml:"top"`
	// Where the subject is: `above` or `below` the title. The subject is the command or
	// the file that the dialog is about. The subject is part of the dialog's identity.
	// Without this key the dialog has no subject.
	Subject string `toml:"subject"`
	// The pattern of the row of an option, below the title: `^(?P<mark>❯| )
	// (?P<number>\d)\. (?P<label>.*)$`. The group `label` is required. The label is
	// part of the dialog's identity. So a tick that comes and goes must stay outside
	// the group `label`. The group `mark` is state: it matches a sign at the marked
	// option, and blanks at the other options. The group `number` is the digit that is
	// typed. The group `tick` is state, too. It matches a blank, or a sign if the option
	// is ticked: `\[(?P<tick>[ ✔])\]`. Several options may be ticked if one has it.
	Option patternText `toml:"option"`
	// The pattern of the marked row of a list without numbers: `^ *(?P<mark>❯)
	// (?P<label>\S.*)$`. Coleo uses it if no row matches `option`. The options are this
	// row and the rows next to it whose text begins in the same column. The group
	// `label` is required. Coleo then moves the mark, whatever `select` says.
	Unnumbered patternText `toml:"unnumbered"`
	// The labels of the options, if they are always the same: `["Yes", "No"]`. They replace
	// `option`, and are part of the dialog's identity.
	Options []string `toml:"options"`
	// The pattern of each option, if the options are on the title's own row:
	// `\((\w)\)([^/\[]*)`. All groups together are the label. The label is part of the
	// dialog's identity.
	Choice patternText `toml:"choice"`
	// The pattern of the row after the options or the subject: `^ Esc to cancel`.
	End patternText `toml:"end"`

	// State: what may change while the dialog is open. The fingerprint ignores it.

	// What in the rows of the subject is state, such as ticks: `[☐☒] `. Coleo removes
	// each match from the subject.
	State patternText `toml:"state"`
	// Whether the subject shows text that the user types into the dialog. The subject
	// is then no part of the identity. A dialog of kind `permission` must not have
	// this key.
	TypedSubject bool `toml:"typed_subject"`
	// The pattern of the label of the option that takes a text, while the option is
	// empty: `^Type something\.?$`. When the option later shows a typed text instead,
	// the text is state.
	Text patternText `toml:"text"`

	// The pattern of the row with the names of several questions, one per page:
	// `^ *← (.*) Submit →$`. The first group holds the names. Coleo applies it before
	// `strip`. The name of the page in sight has a background of its own, or is bold.
	Tabs patternText `toml:"tabs"`
	// The pattern of one name in that row: `[☐☒] (\S+)`. The first group is the name.
	// `tabs` and `tab` need each other.
	Tab patternText `toml:"tab"`
	// The text that names the marked option, if the options come from `choice`:
	// `\[(Yes|No)\]: ?$`. Its group is the label.
	Chosen patternText `toml:"chosen"`
	// The index of the option that is marked if Coleo finds no mark. The first option
	// has index 0. Without this key the first option counts as marked. -1 means that
	// the marked option is not known. With `select = "arrows"` or `select = "row"` this
	// key has no effect: Coleo must see the mark.
	Default int `toml:"default"`
	// The only value is `background`. Use it if only a background color shows which of
	// `options` is marked. All options must be on one row.
	Mark string `toml:"mark"`

	// Completeness: whether the screen shows the whole subject.

	// What the screen shows if the subject continues beyond the rows that are shown.
	// Without this key, a row that ends with `…` means that the subject continues. A
	// subject is also cut off if the row of `top` is out of sight.
	Cut []Cond `toml:"cut"`
	// What the screen shows before the subject is drawn. Coleo then reports the dialog
	// when it is complete. After 3 s Coleo reports it in any case, with a subject that
	// is cut off.
	Draft []Cond `toml:"draft"`
	// What stands before the text in the rows of the subject, such as line numbers or a
	// bar: `^ *\d+ `. Coleo removes it from the title of a `block`. Coleo also removes
	// it before it compares the rows with what a hook reports.
	Gutter patternText `toml:"gutter"`
	// The pattern of a changed row, if the subject is a diff: `^ *\d+ ([-+])`. The last
	// group is the sign. Coleo compares only changed rows with what a hook reports.
	Changed patternText `toml:"changed"`

	// Answers.

	// How an option is picked. `digit` types the number before the option, without
	// `ENTER`. `arrows` moves the mark with `UP` and `DOWN` and then presses `ENTER`.
	// `row` moves the mark with `LEFT` and `RIGHT` and then presses `ENTER`. `keys`
	// picks no option: it presses the keys of `approve`, `always` and `deny`. The key
	// is required.
	Select string `toml:"select"`
	// The label of the option that approves: `^Yes$`. With `select = "keys"` these are the
	// keys that approve: `ENTER`.
	Approve string `toml:"approve"`
	// The same as `approve`, for an approval that also covers later questions.
	Always string `toml:"always"`
	// The same as `approve`, for a denial.
	Deny string `toml:"deny"`
	// How an option is ticked, if several may be. `digit` types its number. Any other
	// value is the key that ticks the marked option, such as `ENTER` or `SPACE`. Coleo
	// then moves the mark with `UP` and `DOWN`. Without this key Coleo ticks nothing.
	Tick keysText `toml:"tick"`
	// The pattern of the row that submits the ticked options: `^(?P<mark>❯)? +Submit$`.
	// Coleo moves the mark to it and presses `ENTER`. The group `mark` is required.
	Submit patternText `toml:"submit"`
	// The pattern of the label of an option that ticks all options above it:
	// `^All of the above$`. It has no tick of its own: whoever picks it picks these.
	All patternText `toml:"all"`
	// The pattern of a row below the title that shows that options may be out of sight:
	// `^ *▼`. Coleo then looks for the option that takes a text.
	More patternText `toml:"more"`
	// The keys that submit the ticked options, if no row does: `TAB`. All options must then
	// be in sight. If a key ticks, these keys are typed at the last option. With `tick`,
	// either `submit` or `submit_keys` is required. `tick = "digit"` needs `submit_keys`.
	SubmitKeys keysText `toml:"submit_keys"`
	// Keys that deny the dialog, whatever options it has: `ESCAPE`. They replace
	// `deny`.
	DenyKeys keysText `toml:"deny_keys"`

	strip, title, top, option, end *regexp.Regexp
	choice, chosen                 *regexp.Regexp
	gutter, changed                *regexp.Regexp
	state, text, unnumbered        *regexp.Regexp
	submit, tabs, tab, all, more   *regexp.Regexp
	approve, always, deny          *regexp.Regexp
	answers                        answerer // the style that Select names
}

// dialogKinds are the kinds that a dialog may have.
var dialogKinds = []coleo.DialogKind{
	coleo.DialogPermission, coleo.DialogQuestion, coleo.DialogTrust, coleo.DialogLogin,
	coleo.DialogPlan, coleo.DialogUpdate, coleo.DialogOther,
}

func (c *compiler) dialog(path string, d *DialogRule) {
	c.readsDialog(path, d)
	at := path + "."
	c.selects(at, d)
	c.keys(at+"deny_keys", d.DenyKeys)
	c.regexps(at, map[string]pattern{"submit": {d.Submit, &d.submit}, "all": {d.All, &d.all},
		"more": {d.More, &d.more}})
	c.ticks(at, d)
}

// readsDialog checks the keys that say how a dialog is recognized and read. It leaves out
// the keys that say how the dialog is answered.
func (c *compiler) readsDialog(path string, d *DialogRule) {
	at := path + "."
	c.plain(at+"name", d.Name)
	if d.Kind == "" {
		d.Kind = string(coleo.DialogOther)
	}
	if !slices.Contains(dialogKinds, coleo.DialogKind(d.Kind)) {
		c.fail(at+"kind", "dialog %q: kind must be one of %q, not %q", d.Name, dialogKinds, d.Kind)
	}
	if d.Mark != "" && d.Mark != "background" {
		c.fail(at+"mark", "dialog %q: mark must be background, not %q", d.Name, d.Mark)
	}
	if d.TypedSubject && d.Kind == string(coleo.DialogPermission) {
		c.fail(at+"typed_subject", "dialog %q: the subject of a permission is always part of its identity", d.Name)
	}
	c.conds(at+"when", d.Name, d.When)
	c.regexps(at, map[string]pattern{
		"strip": {d.Strip, &d.strip}, "title": {d.Title, &d.title}, "top": {d.Top, &d.top},
		"option": {d.Option, &d.option},
		"end":    {d.End, &d.end}, "gutter": {d.Gutter, &d.gutter}, "changed": {d.Changed, &d.changed},
		"choice": {d.Choice, &d.choice}, "chosen": {d.Chosen, &d.chosen},
		"state": {d.State, &d.state}, "text": {d.Text, &d.text},
		"unnumbered": {d.Unnumbered, &d.unnumbered},
		"tabs":       {d.Tabs, &d.tabs}, "tab": {d.Tab, &d.tab},
	})
	for key, list := range map[string][]Cond{"cut": d.Cut, "draft": d.Draft} {
		if len(list) > 0 {
			c.conds(at+key, d.Name, list)
		}
	}
	c.dialogParts(path, d)
}

// dialogParts checks that the patterns of a dialog have the groups that they need, and
// that the dialog has a title.
func (c *compiler) dialogParts(path string, d *DialogRule) {
	at := path + "."
	if d.unnumbered != nil && d.unnumbered.SubexpIndex("label") < 0 {
		c.fail(at+"unnumbered", "dialog %q: unnumbered needs a group called label", d.Name)
	}
	if (d.tabs == nil) != (d.tab == nil) || d.tabs != nil && (d.tabs.NumSubexp() == 0 || d.tab.NumSubexp() == 0) {
		c.fail(at+"tabs", "dialog %q: tabs and tab need each other, and a group each", d.Name)
	}
	if d.option != nil && d.option.SubexpIndex("label") < 0 {
		c.fail(at+"option", "dialog %q: option needs a group called label", d.Name)
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

// SubjectIsPartOf reports whether the visible rows of the subject are a part of input.
// The subject is cut off on the screen, and input is the input of a tool.
func (v Verdict) SubjectIsPartOf(input string) bool { return v.by.showsPartOf(v.shown, input) }

// showsPartOf reports whether the rows in shown are a part of the tool input. If the
// rows show changes, only the changed rows count. The removed rows must stand in the
// input in order, and so must the added rows. The input does not hold the unchanged
// rows.
func (d *DialogRule) showsPartOf(shown []string, input string) bool {
	input = squeeze(input)
	var all strings.Builder
	changes := map[string][]string{} // the changed rows, by sign
	for _, row := range shown {
		text := squeeze(strings.Trim(d.withoutGutter(row), boxDrawing+"…"))
		all.WriteString(text)
		if d.changed == nil {
			continue
		}
		if m := d.changed.FindStringSubmatch(row); m != nil {
			sign := m[len(m)-1]
			changes[sign] = append(changes[sign], text)
		}
	}
	if len(changes) == 0 {
		return all.Len() > 0 && strings.Contains(input, all.String())
	}
	for _, rows := range changes {
		if !inOrder(rows, input) {
			return false
		}
	}
	return true
}

// inOrder reports whether in holds all texts, one after the other.
func inOrder(texts []string, in string) bool {
	for _, text := range texts {
		i := strings.Index(in, text)
		if i < 0 {
			return false
		}
		in = in[i+len(text):]
	}
	return true
}

func (d *DialogRule) withoutGutter(row string) string {
	if d.gutter == nil {
		return row
	}
	return d.gutter.ReplaceAllString(row, "")
}
