package terminal

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"coleo.dev"
)

// verdict is the result of the screen rules for one picture.
type verdict struct {
	state  coleo.State // "" when no rule knows the picture
	rule   string
	detail string
	rows   []string // the rows that the rule looked at
	dialog *coleo.Dialog
	by     *DialogRule // the rule that recognised the dialog
	late   bool        // the rule does not count while the agent CLI is still starting
	shown  []string    // the visible rows of a subject that is cut off
	number []string    // the numbers of the options as shown; none where they have none

	draft   bool // the dialog's subject is not drawn yet
	partial bool // it shows no title or no options, though its rule has them
}

// read applies dialogs, then rules. It is a pure function of the picture.
func (s *Spec) read(f *frame) verdict {
	for i := range s.Dialogs {
		d := &s.Dialogs[i]
		if ok, _, rows := f.matchAll(d.When); ok {
			v := verdict{state: coleo.WaitingApproval, rule: d.Name, rows: rows, by: d}
			v.dialog, v.shown, v.number = d.parse(f)
			if v.draft = d.isDraft(f); v.draft {
				v.dialog.Truncated = true
			}
			v.partial = v.dialog.Kind.OfWork() && d.lacks(v.dialog)
			return v
		}
	}
	for _, r := range s.Rules {
		if ok, detail, rows := f.matchAll(r.When); ok {
			return verdict{state: coleo.State(r.State), rule: r.Name, detail: detail, rows: rows, late: r.Late}
		}
	}
	return verdict{}
}

// parse reads the parts of the dialog on a picture. Parts that it cannot find stay empty;
// the dialog counts all the same. If the screen cuts the subject off, shown holds the
// visible rows. numbers holds the numbers of the options.
func (d *DialogRule) parse(f *frame) (out *coleo.Dialog, shown, numbers []string) {
	rows := make([]string, len(f.rows))
	for i, row := range f.rows {
		if d.strip != nil {
			row = d.strip.ReplaceAllString(row, "")
		}
		rows[i] = strings.TrimRight(row, " ")
	}
	out = &coleo.Dialog{Kind: coleo.DialogKind(d.Kind), Default: d.Default, Options: d.Options}
	if d.Mark == "background" {
		out.Default = f.marked(d.Options)
	}
	w := wrapped{rows, f.rows, f.screen.Cols}
	at, last := d.findTitle(w, out)
	if at < 0 {
		out.Truncated = d.Subject != "" // its subject is out of sight
		return out, nil, nil
	}
	behind, numbers := d.parseOptions(w, last, out)
	clipped := false
	switch d.Subject {
	case "above":
		var top int
		top, clipped = d.findTop(rows, at)
		shown = rows[top:at]
	case "below":
		shown = rows[last+1 : behind]
	}
	out.Subject = block(shown)
	if out.Truncated = clipped || d.cutsOff(f, shown); out.Truncated {
		return out, shown, numbers
	}
	return out, nil, numbers
}

// findTop returns the first row of the subject above a title, and whether the dialog
// continues above the screen.
func (d *DialogRule) findTop(rows []string, title int) (top int, clipped bool) {
	if d.top == nil {
		return max(0, title-1), false
	}
	for i := title - 1; i >= 0; i-- {
		if d.top.MatchString(rows[i]) {
			return i + 1, false
		}
	}
	return 0, true
}

// cutsOff reports whether the agent CLI shows that the subject has more rows than those
// shown.
func (d *DialogRule) cutsOff(f *frame, shown []string) bool {
	if len(d.Cut) > 0 {
		ok, _, _ := f.matchAll(d.Cut)
		return ok
	}
	return slices.ContainsFunc(shown, func(row string) bool {
		return strings.HasSuffix(strings.TrimRight(row, frames), "…")
	})
}

// isDraft reports whether the dialog's subject is not drawn yet.
func (d *DialogRule) isDraft(f *frame) bool {
	if len(d.Draft) == 0 {
		return false
	}
	ok, _, _ := f.matchAll(d.Draft)
	return ok
}

// lacks reports whether a dialog shows no title or no options although its rule has them.
// It may be half drawn.
func (d *DialogRule) lacks(shown *coleo.Dialog) bool {
	return shown.Title == "" || len(shown.Options) == 0 && (d.option != nil || d.choice != nil)
}

// frames are the characters of rows that only draw a box or a scroll bar.
const frames = "─━═╌╍┄┅│┃║╭╮╰╯┌┐└┘├┤█▀▄ "

// block joins rows to a text, without indents and without rows that only draw frames.
func block(rows []string) string {
	var out []string
	for _, row := range rows {
		if strings.Trim(row, frames) != "" {
			out = append(out, strings.TrimSpace(row))
		}
	}
	return strings.Join(out, "\n")
}

// saying returns a hash of a dialog's content. With the number of its appearance it is
// the dialog's fingerprint. The marked option is not part of it: moving the mark does not
// make another dialog.
func saying(d *coleo.Dialog) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(d.Kind), d.Title, d.Subject}, d.Options...), "\x00")))
	return hex.EncodeToString(sum[:6])
}
