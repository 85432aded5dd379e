package mend

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"coleo.dev"
)

// told is one state of a label: when it begins, and the title of the dialog.
type told struct {
	at    float64 // seconds since the recording's start
	state coleo.State
	title string
}

// forever is the end of the last state of a label.
const forever = math.MaxFloat64

// parseLabel reads a label in the form of reading.Label.
func parseLabel(label string) ([]told, error) {
	var out []told
	for rest := strings.TrimSpace(label); rest != ""; {
		var t told
		at, after, _ := strings.Cut(rest, " ")
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number of seconds", at)
		}
		name := after
		if i := strings.IndexAny(after, " ,"); i >= 0 {
			name = after[:i]
		}
		if t = (told{at: seconds, state: coleo.State(name)}); !t.state.Valid() {
			return nil, fmt.Errorf("%q is not a state; states are %v", name, coleo.States())
		}
		if n := len(out); n > 0 && out[n-1].at > t.at {
			return nil, fmt.Errorf("%.2f comes after %.2f", t.at, out[n-1].at)
		}
		rest = strings.TrimLeft(after[len(name):], " ")
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

// at returns what a label says of a moment.
func at(label []told, moment float64) told {
	var t told
	for _, next := range label {
		if next.at > moment {
			break
		}
		t = next
	}
	return t
}

// span is a time in which neither the label nor the reading changes.
type span struct {
	from, until float64
	want, got   told
}

// differences returns the times in which a reading differs from its label.
func differences(want, got []told) []span {
	var out []span
	for w, g := 0, 0; w < len(want) && g < len(got); {
		endW, endG := endOf(want, w), endOf(got, g)
		s := span{max(want[w].at, got[g].at), min(endW, endG), want[w], got[g]}
		if s.until > s.from && (s.want.state != s.got.state || s.want.title != s.got.title) {
			out = append(out, s)
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

func endOf(list []told, i int) float64 {
	if i+1 < len(list) {
		return list[i+1].at
	}
	return forever
}

// rounding is the precision of the times in a label, in seconds.
const rounding = 0.0101

// agrees reports whether a reading is that of the label. A state may begin up to slack
// seconds earlier or later. But idle may not begin earlier than labelled.
func agrees(want, got []told, slack float64) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		early := want[i].at - got[i].at
		if want[i].state != got[i].state || want[i].title != got[i].title || math.Abs(early) > slack+rounding ||
			want[i].state == coleo.Idle && early > rounding {
			return false
		}
	}
	return true
}
