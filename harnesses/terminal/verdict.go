package terminal

import (
	"crypto/sha256"
	"encoding/hex"
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
}

// read applies dialogs, then rules. It is pure: one picture, one verdict.
func (s *Spec) read(f *frame) verdict {
	for i := range s.Dialogs {
		d := &s.Dialogs[i]
		if ok, _, rows := f.matchAll(d.When); ok {
			return verdict{state: coleo.WaitingApproval, rule: d.Name, rows: rows, dialog: d.parse(f), by: d}
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
// the dialog is there all the same.
func (d *DialogRule) parse(f *frame) *coleo.Dialog {
	rows := make([]string, len(f.rows))
	for i, row := range f.rows {
		if d.strip != nil {
			row = d.strip.ReplaceAllString(row, "")
		}
		rows[i] = strings.TrimRight(row, " ")
	}
	out := &coleo.Dialog{Kind: coleo.DialogKind(d.Kind), Default: d.Default, Options: d.Options}
	if d.Mark == "background" {
		out.Default = f.marked(d.Options)
	}
	at := d.findTitle(rows, out)
	if at < 0 {
		return out
	}
	behind := d.parseOptions(rows, at, out)
	switch d.Subject {
	case "above":
		out.Subject = block(rows[d.findTop(rows, at):at])
	case "below":
		out.Subject = block(rows[at+1 : behind])
	}
	return out
}

func (d *DialogRule) findTitle(rows []string, out *coleo.Dialog) int {
	for i := len(rows) - 1; i >= 0; i-- {
		if m := d.title.FindStringSubmatch(rows[i]); m != nil {
			out.Title = strings.TrimSpace(m[min(1, len(m)-1)])
			return i
		}
	}
	return -1
}

func (d *DialogRule) findTop(rows []string, title int) int {
	for i := title - 1; i >= 0 && d.top != nil; i-- {
		if d.top.MatchString(rows[i]) {
			return i + 1
		}
	}
	return max(0, title-1)
}

// parseOptions reads the options below the title and returns the row at which
// they, or the dialog, end.
func (d *DialogRule) parseOptions(rows []string, title int, out *coleo.Dialog) int {
	first := len(rows)
	for i := title + 1; i < len(rows); i++ {
		if d.end != nil && d.end.MatchString(rows[i]) {
			return min(first, i)
		}
		if d.option == nil {
			continue
		}
		m := d.option.FindStringSubmatch(rows[i])
		if m == nil {
			continue
		}
		first = min(first, i)
		if g := d.option.SubexpIndex("mark"); g >= 0 && strings.TrimSpace(m[g]) != "" {
			out.Default = len(out.Options)
		}
		out.Options = append(out.Options, strings.TrimSpace(m[d.option.SubexpIndex("label")]))
	}
	return first
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
