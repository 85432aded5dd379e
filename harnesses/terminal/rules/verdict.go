package rules

import (
	"slices"
	"strings"

	"coleo.dev"
)

// Verdict is the result of the rules on one picture.
type Verdict struct {
	State   coleo.State // "" if no rule recognizes the picture
	Rule    string
	Detail  string
	Rows    []string // the rows that contain the matches of the rule's patterns
	Dialog  *coleo.Dialog
	by      *DialogRule // the rule that recognized the dialog
	Late    bool        // the rule does not count while the agent CLI is still starting
	shown   []string    // the visible rows of the subject, if the subject is cut off
	subject []string    // the visible rows of the subject
	options optionRows  // what the dialog shows in addition to the labels of its options

	Draft   bool // the subject of the dialog is not drawn yet
	Partial bool // the screen shows no title or no options, although the rule describes them
}

// Read applies the dialogs and then the rules to a picture. Its result depends only on the picture
// and the Spec.
func (s *Spec) Read(p *Picture) Verdict {
	for i := range s.Dialogs {
		d := &s.Dialogs[i]
		if ok, _, rows := p.matchAll(d.When); ok {
			v := Verdict{State: coleo.WaitingApproval, Rule: d.Name, Rows: rows, by: d}
			v.Dialog, v.subject, v.options = d.parse(p)
			if v.Dialog.Truncated {
				v.shown = v.subject
			}
			if v.Draft = d.isDraft(p); v.Draft {
				v.Dialog.Truncated = true
			}
			v.Partial = v.Dialog.Kind.OfWork() && d.isPartial(v.Dialog)
			return v
		}
	}
	for _, r := range s.Rules {
		if ok, detail, rows := p.matchAll(r.When); ok {
			return Verdict{State: coleo.State(r.State), Rule: r.Name, Detail: detail, Rows: rows, Late: r.Late}
		}
	}
	return Verdict{}
}

// parse reads the parts of the dialog on a picture. A part that it cannot find stays empty, and the
// dialog still counts. parse also returns the visible rows of the subject, and what the dialog shows
// in addition to the labels of its options.
func (d *DialogRule) parse(p *Picture) (out *coleo.Dialog, shown []string, options optionRows) {
	plain := d.aboveBottom(p.rows)
	rows := make([]string, len(plain))
	for i, row := range plain {
		if d.strip != nil {
			row = d.strip.ReplaceAllString(row, "")
		}
		rows[i] = strings.TrimRight(row, " ")
	}
	out = &coleo.Dialog{Kind: coleo.DialogKind(d.Kind), Default: d.Default, Options: d.Options}
	if d.Mark == "background" {
		out.Default = p.markedOption(d.Options)
	}
	w := wrappedRows{rows, plain, p.Screen.Cols}
	at, last := d.findTitle(w, out)
	if at < 0 {
		out.Truncated = d.Subject != "" // the dialog is not whole without its title, so its subject counts as cut off
		return out, nil, options
	}
	d.dropTails(p, w, last)
	behind, options := d.parseOptions(w, last, out)
	out.Page, out.Pages = d.pageOf(p)
	for i, tick := range options.ticks {
		out.Several = out.Several || tick != NoTick
		if tick == Ticked {
			out.Ticked = append(out.Ticked, i+1)
		}
	}
	clipped := false
	switch d.Subject {
	case "above":
		var top int
		top, clipped = d.findTop(rows, at)
		shown = d.withoutState(rows[top:at])
	case "below":
		shown = d.withoutState(rows[last+1 : behind])
	}
	out.Subject = joinRows(shown)
	out.Truncated = clipped || d.cutsOff(p, shown)
	return out, shown, options
}

// aboveBottom returns the rows down to the dialog's last row, which matches the key `bottom`. If the
// dialog has no such key, or if no row matches it, aboveBottom returns all rows.
func (d *DialogRule) aboveBottom(rows []string) []string {
	for i := len(rows) - 1; i >= 0 && d.bottom != nil; i-- {
		if d.bottom.MatchString(rows[i]) {
			return rows[:i+1]
		}
	}
	return rows
}

// withoutState returns rows without the text that matches the key `state`.
func (d *DialogRule) withoutState(rows []string) []string {
	if d.state == nil {
		return rows
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = d.state.ReplaceAllString(row, "")
	}
	return out
}

// findTop returns the first row of a subject above the title, and whether the dialog continues above
// the screen.
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

// cutsOff reports whether the screen shows that the subject continues beyond its visible rows.
func (d *DialogRule) cutsOff(p *Picture, shown []string) bool {
	if len(d.Cut) > 0 {
		return p.Shows(d.Cut)
	}
	return slices.ContainsFunc(shown, func(row string) bool {
		return strings.HasSuffix(strings.TrimRight(row, boxDrawing), "…")
	})
}

// isDraft reports whether the dialog's subject is not drawn yet.
func (d *DialogRule) isDraft(p *Picture) bool {
	return len(d.Draft) > 0 && p.Shows(d.Draft)
}

// isPartial reports whether a dialog on the screen has no title, or has no options although its rule
// describes some. Such a dialog may be half drawn.
func (d *DialogRule) isPartial(shown *coleo.Dialog) bool {
	return shown.Title == "" || len(shown.Options) == 0 &&
		(d.option != nil || d.unnumbered != nil || d.choice != nil)
}
