package trace

import (
	"slices"
	"strings"

	"coleo.dev"
)

// Runs lists the open runs and the intended prompts of an arm. It implements Prompts.
type Runs struct {
	Open     []coleo.Receipt // the open runs, in order
	Intended []coleo.Receipt // the prompts that are about to be typed
}

// RunOf returns the run that a prompt of the record has begun. It prefers, in this order:
//
//   - an open run with the same text that comes after the given run
//   - the run of an intended prompt with the same text
//   - the given run, if it is open
//   - the newest open run
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

// sameText reports whether a recorded text is the prompt that was sent. Agent CLIs wrap prompts in
// different ways, and some agent CLIs add text of their own.
func sameText(recorded, sent string) bool {
	recorded, sent = strings.Join(strings.Fields(recorded), " "), strings.Join(strings.Fields(sent), " ")
	return sent != "" && strings.Contains(recorded, sent)
}
