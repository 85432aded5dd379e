package terminal

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"coleo.dev"
)

// verdict is what the screen rules say of one picture.
type verdict struct {
	state  coleo.State // "" when no rule knows the picture
	rule   string
	detail string
	rows   []string // that the rule looked at
	dialog *coleo.Dialog
	by     *DialogRule // who recognised the dialog
	late   bool        // the rule says nothing of an agent CLI that still starts
	shown  []string    // of a dialog whose subject is cut off: the rows that there are
	number []string    // of each of its options, as it stands there; none where they have none

	draft   bool // the dialog does not say yet what it is about
	partial bool // it shows no title or no options, and its rule knows where those stand
}

// read applies dialogs, then rules. It is pure: one picture, one verdict.
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

// parse takes the dialog on a picture apart. What it cannot find stays empty:
// the dialog is there all the same. Of a subject that the screen cuts off it
// returns the rows that there are, and of its options the numbers.
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
		out.Truncated = d.Subject != "" // what it is about is out of sight
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

// findTop returns the first row of the subject above a title, and whether the
// dialog goes on above the screen.
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

// cutsOff tells whether the agent CLI shows that there is more of the subject
// than the rows that it has.
func (d *DialogRule) cutsOff(f *frame, shown []string) bool {
	if len(d.Cut) > 0 {
		ok, _, _ := f.matchAll(d.Cut)
		return ok
	}
	return slices.ContainsFunc(shown, func(row string) bool { return strings.HasSuffix(strings.TrimRight(row, frames), "…") })
}

// isDraft tells whether the agent CLI has yet to draw what the dialog is about.
func (d *DialogRule) isDraft(f *frame) bool {
	if len(d.Draft) == 0 {
		return false
	}
	ok, _, _ := f.matchAll(d.Draft)
	return ok
}

// lacks tells whether a dialog shows no title or no options where such a one has
// them: it may be half drawn.
func (d *DialogRule) lacks(shown *coleo.Dialog) bool {
	return shown.Title == "" || len(shown.Options) == 0 && (d.option != nil || d.choice != nil)
}

// frames are the characters of rows that only draw a box or a scroll bar.
const frames = "─━═╌╍┄┅│┃║╭╮╰╯┌┐└┘├┤█▀▄ "

// block joins rows to a text without indent and without rows that say nothing.
func block(rows []string) string {
	var out []string
	for _, row := range rows {
		if strings.Trim(row, frames) != "" {
			out = append(out, strings.TrimSpace(row))
		}
	}
	return strings.Join(out, "\n")
}

// saying names a dialog by what it says. Together with the number of its
// appearance it is the dialog's fingerprint. Which option is marked does not
// count: moving the mark does not make it another dialog.
func saying(d *coleo.Dialog) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(d.Kind), d.Title, d.Subject}, d.Options...), "\x00")))
	return hex.EncodeToString(sum[:6])
}
