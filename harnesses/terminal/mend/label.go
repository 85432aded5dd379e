package mend

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
)

// labelEntry is one state in the label of a recording or in a reading. A label lists the states that
// are right. A reading lists the states that the rules found. The entry also has the time at which the
// state begins, and the title of a dialog.
type labelEntry struct {
	at    float64 // seconds since the recording's start
	state coleo.State
	title string
}

// forever is the end of the last state of a label.
const forever = math.MaxFloat64

// These words can stand in a label in place of a state or a title. Each of them accepts more than one
// reading. They are for labels that are made from the record of a model server, because such a record
// contains no more detail.
const (
	Working  coleo.State = "working"  // processing or executing
	Unjudged coleo.State = "unjudged" // accepts any state
	Changing coleo.State = "changing" // accepts the state before it and the state after it
	AnyTitle             = "*"        // accepts any title of a dialog; a label contains it without quotes
)

// allows reports whether state t of a label accepts a reading.
func (t labelEntry) allows(got labelEntry) bool {
	if t.state == Unjudged {
		return true
	}
	if t.state == Working {
		return got.state == coleo.Processing || got.state == coleo.Executing
	}
	return got.state == t.state && (got.title == t.title || t.title == AnyTitle && got.title != "")
}

// allowsAt reports whether the state at index i of a label accepts a reading.
func allowsAt(label []labelEntry, i int, got labelEntry) bool {
	if label[i].state != Changing {
		return label[i].allows(got)
	}
	return i > 0 && label[i-1].allows(got) ||
		i+1 < len(label) && (label[i+1].allows(got) || label[i+1].isUndrawn(got))
}

// isUndrawn reports whether a reading is the labelled dialog at a time when the agent CLI has not drawn
// the whole dialog yet. Such a reading has no title.
func (t labelEntry) isUndrawn(got labelEntry) bool { return t.state == got.state && got.title == "" }

// wantedFor returns the state that the label wants for a picture with the given reading. If the label
// has a word such as Working that accepts the reading, the result has the reading's state. An empty
// title in the result accepts any title.
func (t labelEntry) wantedFor(reading labelEntry) labelEntry {
	switch {
	case t.state == Unjudged || t.state == Changing || t.state == Working && t.allows(reading):
		return labelEntry{at: t.at, state: reading.state}
	case t.state == Working:
		return labelEntry{at: t.at, state: coleo.Processing}
	case t.title == AnyTitle:
		return labelEntry{at: t.at, state: t.state}
	}
	return t
}

// parseLabel parses a label in the form of reading.Label.
func parseLabel(label string) ([]labelEntry, error) {
	var out []labelEntry
	for rest := strings.TrimSpace(label); rest != ""; {
		var t labelEntry
		at, after, _ := strings.Cut(rest, " ")
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number of seconds", at)
		}
		name := after
		if i := strings.IndexAny(after, " ,"); i >= 0 {
			name = after[:i]
		}
		t = labelEntry{at: seconds, state: coleo.State(name)}
		if !t.state.Valid() && t.state != Working && t.state != Unjudged && t.state != Changing {
			return nil, fmt.Errorf("%q is not a state; states are %s", name, printable.List(coleo.States()))
		}
		if n := len(out); n > 0 && out[n-1].at > t.at {
			return nil, fmt.Errorf("%.2f comes after %.2f", t.at, out[n-1].at)
		}
		rest = strings.TrimLeft(after[len(name):], " ")
		if more, ok := strings.CutPrefix(rest, AnyTitle); ok {
			t.title, rest = AnyTitle, strings.TrimLeft(more, " ")
		}
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("the title %s is not closed", rest)
			}
			if t.title, err = strconv.Unquote(quoted); err != nil {
				return nil, fmt.Errorf("the title %s is not readable", quoted)
			}
			rest = strings.TrimLeft(rest[len(quoted):], " ")
		}
		out = append(out, t)
		if rest != "" && !strings.HasPrefix(rest, ",") {
			return nil, fmt.Errorf("there is no comma before %q", rest)
		}
		rest = strings.TrimSpace(strings.TrimPrefix(rest, ","))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the label is empty")
	}
	return out, nil
}

// stateAt returns the state of a label at a moment.
func stateAt(label []labelEntry, moment float64) labelEntry {
	var t labelEntry
	for _, next := range label {
		if next.at > moment {
			break
		}
		t = next
	}
	return t
}

// span is a period in which neither the label nor the reading changes.
type span struct {
	from, until float64
	want, got   labelEntry
}

// differences returns the times at which a reading differs from its label. A state may begin up to
// `slack` seconds earlier or later, but idle may not begin earlier than labelled.
func differences(want, got []labelEntry, slack float64) []span {
	var out []span
	slack += rounding
	for w, g := 0, 0; w < len(want) && g < len(got); {
		endW, endG := endOf(want, w), endOf(got, g)
		s := span{max(want[w].at, got[g].at), min(endW, endG), want[w], got[g]}
		if !allowsAt(want, w, s.got) {
			s.from, s.until = max(s.from, lateUntil(want, w, s.got, slack)), min(s.until, earlyFrom(want, w, s.got, slack))
			if s.until > s.from {
				out = append(out, s)
			}
		}
		if endW <= endG {
			w++
		}
		if endG <= endW {
			g++
		}
	}
	return out
}

// lateUntil returns the time until which a reading counts as late instead of wrong. The parameter w is
// the index of the labelled state. A reading is late in two cases: if a state before state w accepts
// it, or if it is the labelled dialog before the whole dialog is drawn. Otherwise lateUntil returns 0.
func lateUntil(label []labelEntry, w int, got labelEntry, slack float64) float64 {
	if label[w].isUndrawn(got) {
		return label[w].at + slack
	}
	for i := w - 1; i >= 0; i-- {
		if allowsAt(label, i, got) {
			return label[i+1].at + slack
		}
	}
	return 0
}

// earlyFrom returns the time from which a reading counts as early instead of wrong. The parameter w is
// the index of the labelled state. A reading is early if a state after state w accepts it. Otherwise
// earlyFrom returns forever. Idle may be early only by the time in the constant `rounding`.
func earlyFrom(label []labelEntry, w int, got labelEntry, slack float64) float64 {
	if got.state == coleo.Idle {
		slack = rounding
	}
	for i := w + 1; i < len(label); i++ {
		if allowsAt(label, i, got) {
			return label[i].at - slack
		}
	}
	return forever
}

func endOf(list []labelEntry, i int) float64 {
	if i+1 < len(list) {
		return list[i+1].at
	}
	return forever
}

// rounding is the largest difference, in seconds, that rounding can make between two equal times. A
// label rounds times to 0.01 s. The rest allows for the errors of floating-point numbers.
const rounding = 0.0101

// agrees reports whether a reading is the same as its label.
func agrees(want, got []labelEntry, slack float64) bool {
	return len(differences(want, got, slack)) == 0
}
