package reading

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// strangeSettle is how long a screen that no rule knows must stay the same before
	// Coleo reports it as a dialog. A dialog that a rule knows is drawn in a shorter time.
	strangeSettle = time.Second
	// strangeTitle is the title of such a dialog.
	strangeTitle = "unknown"
)

// strange is a screen that no rule knows, while a witness says that the agent CLI asks
// something. Coleo reports it as a dialog without options. A dialog that only the rules of
// a pack know is strange too, because a pack holds no answers. Coleo types nothing into a
// strange dialog, except a key that a person names for this very appearance of it.
type strange struct {
	text  string // hash of what is shown; "" if there is no such screen
	since time.Time
	n     int
}

// end notes that the screen is known, or that no witness says that something is asked.
func (s *strange) end() { s.text = "" }

// show returns the dialog for a picture, or how much longer the picture must stay the
// same. If a pack knows the dialog, read is the dialog as the pack reads it. Otherwise read
// is nil.
func (s *strange) show(p *rules.Picture, read *coleo.Dialog, epoch string, now time.Time) (*coleo.Dialog,
	time.Duration) {
	out := coleo.Dialog{Kind: coleo.DialogOther, Title: strangeTitle, Default: -1}
	if read != nil {
		out = *read
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

// Strange returns the dialog that no rule of the Spec itself knows, or nil if there is
// none.
func (r *Reader) Strange() *coleo.Dialog {
	if d := r.reading.Dialog; d != nil && r.verdict.State == "" && r.strange.text != "" {
		return d
	}
	return nil
}
