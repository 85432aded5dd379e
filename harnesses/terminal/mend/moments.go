package mend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// Case is a recording with its label.
type Case struct {
	Name  string
	Cast  *pty.Cast
	Label string  // in the form of reading.Label; may contain Working, Unjudged, Changing and AnyTitle
	Slack float64 // seconds by which states may begin earlier or later than labelled
}

// caseReading is a recording with its label, and with what a description reads in the recording.
type caseReading struct {
	Case
	want, got []labelEntry
	shots     []shot
}

// shot is a picture of a recording.
type shot struct {
	at, until float64
	screen    coleo.Screen
	want      labelEntry // the labelled state at the end of the picture's time
	state     coleo.State
	title     string
	rule      string
	partial   bool // the dialog shows no title or no options
	composer  bool // the picture shows a composer
}

// store stores the verdict of the rules on the picture.
func (s *shot) store(v rules.Verdict) {
	s.state, s.rule, s.title, s.partial = v.State, v.Rule, "", v.Partial
	if v.Dialog != nil {
		s.title = v.Dialog.Title
	}
}

// expect stores the labelled state of the picture.
func (s *shot) expect(label labelEntry) {
	s.want = label.wantedFor(labelEntry{state: s.state, title: s.title})
}

// isWell reports whether the rules read the picture as labelled.
func (s *shot) isWell() bool {
	return s.state == s.want.state && !s.partial && (s.want.title == "" || s.want.title == s.title)
}

// reread returns the picture with its reading by another description.
func (s shot) reread(spec *rules.Spec) shot {
	p := rules.NewPicture(s.screen, &spec.Composer)
	s.store(spec.Read(p))
	s.composer = p.Composer != nil
	return s
}

// Break is a period of a recording in which the reading differs from the label.
type Break struct {
	Recording string   `json:"recording"`
	From      float64  `json:"from"`  // start of the period, in seconds
	Until     float64  `json:"until"` // end of the period, in seconds; -1 for the end of the recording
	Want      string   `json:"want"`  // the labelled state, and the title of a dialog
	Got       string   `json:"got"`   // the state that was read, and the title of a dialog
	Rule      string   `json:"rule"`  // the rule that decided the state
	Rows      []string `json:"rows"`  // the last rows of the screen
}

func (t labelEntry) String() string {
	if t.title == "" {
		return string(t.state)
	}
	return fmt.Sprintf("%s %q", t.state, t.title)
}

// readLabel returns the states that a description reads in a recording.
func readLabel(spec *rules.Spec, c Case) []labelEntry {
	got, err := parseLabel(reading.Label(spec, reading.Recording{Cast: c.Cast, Until: -1}))
	if err != nil {
		panic(fmt.Sprintf("mend: reading.Label wrote what parseLabel refuses: %v", err)) // a mistake in this package
	}
	return got
}

// readCase reads a case with a description, and returns it with its pictures.
func readCase(spec *rules.Spec, c Case) (caseReading, error) {
	want, err := parseLabel(c.Label)
	if err != nil {
		return caseReading{}, coleo.Errorf(coleo.EInvalid, "the label of %s: %v", c.Name, err)
	}
	t := caseReading{Case: c, want: want}
	label := reading.Pictures(spec, reading.Recording{Cast: c.Cast, Until: -1}, func(at time.Duration, p *rules.Picture,
		v rules.Verdict) {
		n := len(t.shots)
		if n > 0 && sameRows(t.shots[n-1].screen, p.Screen) {
			return
		}
		s := shot{at: at.Seconds(), screen: p.Screen, composer: p.Composer != nil}
		s.store(v)
		if n > 0 {
			t.shots[n-1].until = s.at
		}
		t.shots = append(t.shots, s)
	})
	if t.got, err = parseLabel(label); err != nil {
		return t, fmt.Errorf("read %s: %w", c.Name, err)
	}
	for i := range t.shots {
		t.shots[i].expect(stateAt(want, t.shots[i].until-rounding/2))
	}
	if n := len(t.shots); n > 0 {
		last := &t.shots[n-1]
		last.until = max(last.at, endOfCast(c.Cast))
		last.expect(want[len(want)-1])
	}
	return t, nil
}

func endOfCast(c *pty.Cast) float64 {
	if n := len(c.Events); n > 0 {
		return c.Events[n-1].At.Seconds()
	}
	return 0
}

func sameRows(a, b coleo.Screen) bool {
	return a.Title == b.Title && a.Cursor == b.Cursor && slices.Equal(a.Lines, b.Lines)
}

// reread returns a copy of the case with the readings of its pictures by another description.
func (t caseReading) reread(spec *rules.Spec) caseReading {
	t.shots = slices.Clone(t.shots)
	for i := range t.shots {
		t.shots[i] = t.shots[i].reread(spec)
	}
	return t
}

// readsAlike reports whether another description reads each picture in the same way.
func (t *caseReading) readsAlike(spec *rules.Spec) bool {
	return !slices.ContainsFunc(t.shots, func(s shot) bool {
		n := s.reread(spec)
		return n.state != s.state || n.title != s.title || n.partial != s.partial || n.composer != s.composer
	})
}

// readsAsLabelled reports whether the reading of the case is the same as its label.
func (t *caseReading) readsAsLabelled() bool { return agrees(t.want, t.got, t.Slack) }

// breaks returns the periods in which the reading of the case differs from its label.
func (t *caseReading) breaks() []Break {
	if t.readsAsLabelled() {
		return nil
	}
	var out []Break
	for _, s := range differences(t.want, t.got, t.Slack) {
		b := Break{Recording: t.Name, From: s.from, Until: s.until, Want: s.want.String(), Got: s.got.String()}
		if s.until == forever {
			b.Until = -1
		}
		if shots := t.picturesWithin(s); len(shots) > 0 {
			b.Rule = shots[len(shots)-1].rule
			b.Rows = shownRows(shots[len(shots)-1].screen)
		}
		out = append(out, b)
	}
	return out
}

// shownRowsMost is the largest number of screen rows in a Break. Dialogs have fewer rows.
const shownRowsMost = 12

// shownRows returns the last rows of a screen that are not blank, at most shownRowsMost rows.
func shownRows(s coleo.Screen) []string {
	var out []string
	for _, row := range s.Lines {
		if strings.TrimSpace(row) != "" {
			out = append(out, strings.TrimRight(row, " "))
		}
	}
	return out[max(0, len(out)-shownRowsMost):]
}

// picturesWithin returns the pictures that were on the screen within a span, including the one that was there
// when the span began. It skips short pictures (see isShort), except the last picture of the recording. If
// all pictures within the span are short, it returns only the last of them.
func (t *caseReading) picturesWithin(s span) []shot {
	var out, short []shot
	for i, p := range t.shots {
		switch {
		case p.at >= s.until || p.until <= s.from-rounding:
		case p.isShort() && i < len(t.shots)-1:
			short = append(short, p)
		default:
			out = append(out, p)
		}
	}
	if len(out) == 0 && len(short) > 0 {
		return short[len(short)-1:]
	}
	return out
}

// isShort reports whether the picture was on the screen only for a very short time. Labels round times,
// so no label can describe such a picture.
func (s *shot) isShort() bool { return s.until-s.at < 2*rounding }
