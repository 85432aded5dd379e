package reading

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// strangeSettle is how long a screen that no rule knows must stay the same before Coleo reports it as a
	// dialog. An agent CLI draws a whole dialog in a shorter time. So Coleo does not report a half-drawn
	// dialog that a rule knows as unknown.
	strangeSettle = time.Second
	// strangeTitle is the title that Coleo gives to a dialog that no rule knows. A dialog that only the rules
	// of a pack know gets this title if it has no title of its own.
	strangeTitle = "unknown"
)

// strangeDialog describes a strange screen. A screen is strange if no rule knows it, but another source,
// such as the hook, reports that the agent CLI asks something. Coleo reports such a screen as a dialog
// without options.
//
// A dialog that only the rules of a pack know is strange too, because a pack contains no answers. Into a
// strange dialog, Coleo types only a key that a person names for this dialog.
type strangeDialog struct {
	text  string // hash of the dialog; "" if the screen is not strange
	since time.Time
	n     int
}

// end records that the screen is not strange: a rule knows it, or no other source reports that the agent
// CLI asks something.
func (s *strangeDialog) end() { s.text = "" }

// show returns the dialog on a strange picture after the picture has stayed the same for strangeSettle.
// Until then, it returns nil and how much longer the picture must stay the same. The parameter fromPack is
// the dialog as the pack reads it, or nil if the pack does not know the dialog either.
func (s *strangeDialog) show(p *rules.Picture, fromPack *coleo.Dialog, epoch string, now time.Time) (*coleo.Dialog,
	time.Duration) {
	out := coleo.Dialog{Kind: coleo.DialogOther, Title: strangeTitle, Default: -1}
	if fromPack != nil {
		out = *fromPack
	} else {
		out.Subject = strings.Trim(strings.Join(p.Screen.Text(), "\n"), "\n")
	}
	if out.Title == "" {
		out.Title = strangeTitle
	}
	if text := contentHash(&out); text != s.text {
		s.text, s.since = text, now
		s.n++
	}
	if left := strangeSettle - now.Sub(s.since); left > 0 {
		return nil, left
	}
	out.Fingerprint = coleo.Fingerprint(fmt.Sprintf("%s-%s-unknown-%d", s.text, epoch, s.n))
	return &out, IdleLook
}

// Strange returns the dialog on the screen if none of the Spec's own rules knows it, and nil
// otherwise.
func (r *Reader) Strange() *coleo.Dialog {
	if d := r.reading.Dialog; d != nil && r.verdict.State == "" && r.strange.text != "" {
		return d
	}
	return nil
}
