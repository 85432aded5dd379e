package rules

import (
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
)

// DialogRule describes how to recognize a dialog, where its parts are, and which keys answer it.
//
// A rule reads two kinds of things from the screen:
//
//   - Identity: the kind, the title, the subject and the options. The dialog's fingerprint is made from
//     these four (contentHash in package reading). If one of them changes, the dialog counts as another
//     dialog, and Coleo refuses an answer to the earlier dialog.
//   - State: the marked option. If the mark moves, the dialog is still the same.
//
// The patterns of the identity must not match state, such as a mark, a tick, a cursor or typed text.
type DialogRule struct {
	// Name is the name of the rule. `coleo harness explain` shows it. If the key `base` names a base, a
	// rule replaces the rule of the base with the same name.
	Name string `toml:"name"`
	// Kind is what the dialog is about: `permission`, `question`, `trust`, `login`, `plan`, `update` or
	// `other`. The kind is part of the dialog's identity. Use `permission`, `question` and `plan` only for
	// dialogs that the agent CLI opens while it works on a prompt.
	Kind string `toml:"kind"`
	// When is the list of conditions, 1 to 16. All conditions must hold.
	When []Cond `toml:"when"`
	// Strip is the pattern of the text that Coleo removes from each row before it applies the patterns
	// below, such as a frame: `^│ | *│$`.
	Strip patternText `toml:"strip"`

	// The next keys describe the parts of the dialog's identity: the title, the subject and the
	// options. The kind is also part of the identity.

	// Title is the pattern of the row with the question: `^ (Do you want to .*\?)$`. Coleo searches for
	// that row from the bottom of the screen up. The title is the first group, or the whole match if there
	// is no group. In a narrow terminal, Coleo joins the rows of a title. The title is part of the
	// dialog's identity. One of `title`, `block` and `heading` is required.
	Title patternText `toml:"title"`
	// Block reports whether the title is the whole paragraph above the numbered options. The paragraph can
	// have any text. This key needs the group `number` in `option`. Coleo uses `title` only if there is no
	// such paragraph.
	Block bool `toml:"block"`
	// Heading reports whether Coleo looks for the title at the row of `top` if no row matches `title`. If
	// the row of `top` contains text, this text is the title. Otherwise the title is the next row that
	// contains text. A line of a frame is no text. This key needs `top`.
	Heading bool `toml:"heading"`
	// Top is the pattern of the row above the dialog: `^ Permission required`. The subject begins
	// below this row. Without `top` the subject is the one row above the title.
	Top patternText `toml:"top"`
	// Subject is the place of the subject: `above` or `below` the title. The subject is the command or the
	// file that the dialog is about. It is part of the dialog's identity. Without this key the dialog has
	// no subject.
	Subject string `toml:"subject"`
	// Option is the pattern of an option's row, below the title:
	// `^(?P<mark>❯| ) (?P<number>\d)\. (?P<label>.*)$`. The group `label` is required. The label is part of
	// the dialog's identity, so a tick that can change must be outside the group `label`. The group `mark`
	// is state: it matches a sign at the marked option, and blanks at the other options. The group `number`
	// is the digit that Coleo types. The group `tick` is state, too. It matches a blank, or a sign if the
	// option is ticked: `\[(?P<tick>[ ✔])\]`. If an option has the group `tick`, several options can be
	// ticked.
	Option patternText `toml:"option"`
	// Unnumbered is the pattern of the marked row of a list without numbers:
	// `^ *(?P<mark>❯) (?P<label>\S.*)$`. Coleo uses this pattern if the dialog has no key `option`, or if
	// no row matches `option`. The options are the marked row and the rows next to it whose text begins in
	// the same column. The group `label` is required. In such a list Coleo moves the mark, whatever the
	// value of `select` is.
	Unnumbered patternText `toml:"unnumbered"`
	// Options are the labels of the options if they are always the same: `["Yes", "No"]`. This key
	// replaces `option`. The labels are part of the dialog's identity.
	Options []string `toml:"options"`
	// Choice is the pattern of each option if the options are in the same row as the title:
	// `\((\w)\)([^/\[]*)`. All groups together are the label. The label is part of the dialog's identity.
	Choice patternText `toml:"choice"`
	// End is the pattern of the row after the options or the subject: `^ Esc to cancel`.
	End patternText `toml:"end"`
	// Bottom is the pattern of the dialog's last row: `^╰─{20,}╯`. Coleo searches for that row from the
	// bottom of the screen up, and applies the pattern before `strip`. The rows below it, such as a status
	// line of the user, are not part of the dialog.
	Bottom patternText `toml:"bottom"`

	// The next keys describe state: the parts that can change while the dialog is open. The fingerprint
	// ignores state.

	// State is the pattern of the parts of the subject that can change while the dialog is open,
	// such as ticks: `[☐☒] `. Coleo removes each match from the subject.
	State patternText `toml:"state"`
	// TypedSubject reports whether the subject shows text that the user types into the dialog. Such a
	// subject is not part of the identity. A dialog of kind `permission` must not have this key.
	TypedSubject bool `toml:"typed_subject"`
	// Tail is the pattern of the sign after the label of an option that the user has chosen before: ` ✔$`.
	// Coleo removes the sign only from an option whose color differs from the colors of all other options
	// and of the mark. If another label ends with the same sign, Coleo keeps it. An option with the group
	// `tick` has no such sign.
	Tail patternText `toml:"tail"`
	// TailWhen are the conditions that a screen without colors meets if an option was chosen before. While
	// they hold on such a screen, Coleo removes the text that `tail` matches from each option.
	TailWhen []Cond `toml:"tail_when"`
	// Text is a pattern for the free-text option. It matches the label of that option while the option is
	// empty: `^Type something\.?$`. A text that the user types there replaces the label, and counts as
	// state. This key needs the group `number` in `option`, because Coleo finds the option again by its
	// number after the label has changed.
	Text patternText `toml:"text"`

	// Tabs is for a dialog that shows several questions, one at a time. It is the pattern of the row with
	// the names of these questions: `^ *← (.*) Submit →$`. The first group contains the names. Coleo
	// applies the pattern before `strip`. The name of the visible question must stand out: either only this
	// name is bold, or only this name has another background.
	Tabs patternText `toml:"tabs"`
	// Tab is the pattern of one name in the row that `tabs` matches: `[☐☒] (\S+)`. The first group is the
	// name. `tabs` and `tab` must be set together.
	Tab patternText `toml:"tab"`
	// Chosen is the pattern of the text that names the marked option if the options come from `choice`:
	// `\[(Yes|No)\]: ?$`. The group is the label of the option.
	Chosen patternText `toml:"chosen"`
	// Default is the index, from 0, of the option that counts as marked if Coleo finds no mark. Without
	// this key the first option counts as marked. -1 means that the marked option is unknown. With
	// `select = "arrows"` or `select = "row"` this key has no effect, because Coleo must see the mark.
	Default int `toml:"default"`
	// Mark has only one value: `background`. Use it if only a background color shows which of `options` is
	// marked. All options must be on one row.
	Mark string `toml:"mark"`

	// The next keys describe completeness: whether the screen shows the whole subject.

	// Cut are the conditions under which the subject continues beyond the visible rows. Without this key,
	// the subject continues if one of its rows ends with `…`. The subject is also cut off if the row of
	// `top` is out of sight.
	Cut []Cond `toml:"cut"`
	// Draft are the conditions under which the subject is not drawn yet. While they hold, Coleo does not
	// report the text of the dialog. After 3 s it reports the text anyway, with a subject that is marked
	// as cut off.
	Draft []Cond `toml:"draft"`
	// Gutter is the pattern of the text before the content of a subject's row, such as a line number or a
	// bar: `^ *\d+ `. Coleo removes the match from the title of a `block`. It also removes the match from
	// rows of the subject before it compares them with the tool's input that a hook has reported.
	Gutter patternText `toml:"gutter"`
	// Changed is the pattern of a changed row if the subject is a diff: `^ *\d+ ([-+])`. The last group is
	// the sign. Coleo compares only changed rows with the tool's input that a hook has reported.
	Changed patternText `toml:"changed"`

	// The next keys describe how Coleo answers the dialog.

	// Select is the way in which Coleo chooses an option. `digit` types the number before the option,
	// without `ENTER`. `arrows` moves the mark with `UP` and `DOWN` and then presses `ENTER`. `row` moves
	// the mark with `LEFT` and `RIGHT` and then presses `ENTER`. `keys` chooses no option: it presses the
	// keys of `approve`, `always` and `deny`. The key is required.
	Select string `toml:"select"`
	// Approve is a pattern for the label of the option that approves: `^Yes$`. If `select` is
	// `keys`, this key instead lists the keys that Coleo presses to approve: `ENTER`.
	Approve string `toml:"approve"`
	// Always has the same form as `approve`. It is for the option that approves this dialog and
	// later dialogs.
	Always string `toml:"always"`
	// Deny has the same form as `approve`. It is for the option that denies.
	Deny string `toml:"deny"`
	// Tick is the way in which Coleo ticks an option, if several options can be ticked. `digit` types the
	// number of the option. Any other value is the key that ticks the marked option, such as `ENTER` or
	// `SPACE`. Before it presses this key, Coleo moves the mark with `UP` and `DOWN`. Without `tick`,
	// Coleo ticks nothing.
	Tick keysText `toml:"tick"`
	// Submit is the pattern of the row that submits the ticked options: `^(?P<mark>❯)? +Submit$`.
	// Coleo moves the mark to this row and presses `ENTER`. The group `mark` is required.
	Submit patternText `toml:"submit"`
	// All is a pattern for the label of an option that ticks all options above it: `^All of the above$`.
	// The option itself has no tick. To choose this option means to choose all options above it.
	All patternText `toml:"all"`
	// More is the pattern of a row below the title which shows that more options may be out of sight:
	// `^ *▼`. If a row matches, Coleo searches for the free-text option, and does not type `submit_keys`.
	More patternText `toml:"more"`
	// SubmitKeys are the keys that submit the ticked options if no row submits them: `TAB`. With `tick`,
	// either `submit` or `submit_keys` is required. `tick = "digit"` needs `submit_keys`. Without `tick`,
	// neither key is allowed. Coleo types the submit keys only if the screen proves that all options are in
	// sight. For this proof, the dialog needs `text`, `more` or both. With `text`, the free-text option
	// must be in sight. With `more`, no row may match `more`. With `text` alone, the free-text option must
	// also be the last option with a tick. If `tick` is a key that ticks the marked option, Coleo first
	// moves the mark to the last option with a tick. If that option is an empty free-text option, Coleo
	// moves the mark to the nearest option with a tick above it.
	SubmitKeys keysText `toml:"submit_keys"`
	// DenyKeys are the keys that deny the dialog, whatever its options are: `ESCAPE`. They replace
	// `deny`.
	DenyKeys keysText `toml:"deny_keys"`

	strip, title, top, option, end *regexp.Regexp
	bottom                         *regexp.Regexp
	choice, chosen                 *regexp.Regexp
	gutter, changed                *regexp.Regexp
	state, tail, text, unnumbered  *regexp.Regexp
	submit, tabs, tab, all, more   *regexp.Regexp
	approve, always, deny          *regexp.Regexp
	answers                        answerer // the style of answering that the key `select` names
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

// readsDialog checks the keys for recognizing and reading a dialog, but not the keys for answering it.
func (c *compiler) readsDialog(path string, d *DialogRule) {
	at := path + "."
	c.plain(at+"name", d.Name)
	if d.Kind == "" {
		d.Kind = string(coleo.DialogOther)
	}
	if kinds := coleo.DialogKinds(); !slices.Contains(kinds, coleo.DialogKind(d.Kind)) {
		c.fail(at+"kind", "dialog %q: kind must be one of %s, not %q", d.Name, printable.List(kinds), d.Kind)
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
		"end":    {d.End, &d.end}, "bottom": {d.Bottom, &d.bottom},
		"gutter": {d.Gutter, &d.gutter}, "changed": {d.Changed, &d.changed},
		"choice": {d.Choice, &d.choice}, "chosen": {d.Chosen, &d.chosen},
		"state": {d.State, &d.state}, "tail": {d.Tail, &d.tail}, "text": {d.Text, &d.text},
		"unnumbered": {d.Unnumbered, &d.unnumbered},
		"tabs":       {d.Tabs, &d.tabs}, "tab": {d.Tab, &d.tab},
	})
	for key, list := range map[string][]Cond{"cut": d.Cut, "draft": d.Draft, "tail_when": d.TailWhen} {
		if len(list) > 0 {
			c.conds(at+key, d.Name, list)
		}
	}
	c.dialogParts(path, d)
}

// dialogParts checks that the patterns of a dialog have the required groups, and that the dialog has a
// title.
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
	if d.text != nil && (d.option == nil || d.option.SubexpIndex("number") < 0) {
		c.fail(at+"text", "dialog %q: text needs an option with a group called number", d.Name)
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

// SubjectIsPartOf reports whether a tool's input contains the visible rows of the subject. It is for a
// subject of which the screen shows only a part.
func (v Verdict) SubjectIsPartOf(input string) bool { return v.by.showsPartOf(v.shown, input) }

// showsPartOf reports whether a tool's input contains the visible rows. If the rows show a diff, only
// the changed rows count, because the input does not contain the unchanged ones. The input must contain
// all removed rows in order, and all added rows in order.
func (d *DialogRule) showsPartOf(shown []string, input string) bool {
	input = squeeze(input)
	var all strings.Builder
	changes := map[string][]string{} // the changed rows of a diff, by their sign, such as + or -
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

// inOrder reports whether one text contains all the given texts, one after the other.
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
