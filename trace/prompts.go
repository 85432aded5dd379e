package trace

import (
	"slices"
	"strings"

	"coleo.dev"
)

// Runs contains the open runs of an arm, and the prompts that Coleo intends to type next. It
// implements Prompts.
type Runs struct {
	Open     []coleo.Receipt // the open runs, in order
	Intended []coleo.Receipt // the prompts that are about to be typed
}

// RunOf returns the run that a prompt of the record has begun. The first of these cases decides:
//
//   - An open run after the given run has the same text: RunOf returns it.
//   - An intended prompt has the same text: `wait` is true, because the prompt's run has not begun.
//   - The given run is open: RunOf returns it.
//   - Other runs are open: RunOf returns the newest of them.
//   - Other prompts are intended: `wait` is true.
//
// RunOf ignores an intended prompt if a dialog hides whether the prompt has arrived.
func (r Runs) RunOf(text, run string) (found string, wait bool) {
	now := slices.IndexFunc(r.Open, func(o coleo.Receipt) bool { return o.ID == run })
	for _, o := range r.Open[now+1:] {
		if sameText(text, o.Text) {
			return o.ID, false
		}
	}
	for _, p := range r.Intended {
		if !p.Unsettled && sameText(text, p.Text) {
			return "", true
		}
	}
	switch {
	case now >= 0:
		return run, false
	case len(r.Open) > 0:
		return r.Open[len(r.Open)-1].ID, false
	}
	sending := slices.ContainsFunc(r.Intended, func(p coleo.Receipt) bool { return !p.Unsettled })
	return "", sending
}

// sameText reports whether the text in a record is the prompt that was sent. The sent text may be
// only a part of the recorded text. Agent CLIs wrap prompts in different ways, and some add text of
// their own.
func sameText(recorded, sent string) bool {
	recorded, sent = strings.Join(strings.Fields(recorded), " "), strings.Join(strings.Fields(sent), " ")
	return sent != "" && strings.Contains(recorded, sent)
}
