package mend

import (
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// wipedRows is how many rows wipeEnd blanks at the end of a screen, counted upward from the last row
	// with text. Most composers have fewer rows.
	wipedRows = 5
	// mostWiped is the largest number of wiped pictures that a change is tried on.
	mostWiped = 24
	// A guard is a second condition of a rule of idle. It may fail to hold on one in mostMissed pictures with
	// text in the composer, because the label of such a picture can be late.
	mostMissed = 20
)

// wipedScreens returns screens of an idle agent CLI on which the last rows are blank, including the
// whole composer. On a real screen, a command can cause this if it prints directly to the terminal.
//
// Such a wiped screen must not read as idle, even if the transcript shows a prompt in a box like the
// composer's. If it reads as unknown, Coleo asks the agent CLI to draw its screen again.
func wipedScreens(spec *rules.Spec, all []caseReading) []coleo.Screen {
	var out []coleo.Screen
	for i := range all {
		for _, s := range all[i].shots {
			if !s.composer || s.isShort() || s.want.state != coleo.Idle {
				continue
			}
			p := rules.NewPicture(s.screen, &spec.Composer)
			if screen, whole := wipeEnd(s.screen, len(p.Above())); whole {
				out = append(out, screen)
			}
		}
	}
	return evenlySpaced(out, mostWiped)
}

// wipeEnd returns a copy of a screen on which the last rows are blank. The parameter `composer` is the
// index of the first row of the composer. If a part of the composer would stay on the screen, wipeEnd
// changes nothing, and `whole` is false.
func wipeEnd(s coleo.Screen, composer int) (out coleo.Screen, whole bool) {
	last := len(s.Lines) - 1
	for last >= 0 && strings.TrimSpace(s.Lines[last]) == "" {
		last--
	}
	from := max(0, last+1-wipedRows)
	if from > composer {
		return s, false
	}
	s.Lines = slices.Clone(s.Lines)
	for i := from; i <= last; i++ {
		s.Lines[i] = ""
	}
	s.Cursor[1] = from
	return s, true
}

// picturesOfDrafts returns pictures of an idle agent CLI whose composer contains text. It leaves out
// the pictures that the rules already read as idle.
func picturesOfDrafts(spec *rules.Spec, all []caseReading) (out []*rules.Picture) {
	for i := range all {
		for _, s := range all[i].shots {
			if !s.composer || s.isShort() || s.want.state != coleo.Idle || s.state == coleo.Idle {
				continue
			}
			if p := rules.NewPicture(s.screen, &spec.Composer); p.Composer != nil && !p.Composer.Empty {
				out = append(out, p)
			}
		}
	}
	return evenlySpaced(out, mostOthers)
}

// trustsWiped reports whether a description wrongly reads a screen without its composer as idle: see
// wipedScreens.
func trustsWiped(spec *rules.Spec, screens []coleo.Screen) bool {
	return slices.ContainsFunc(screens, func(s coleo.Screen) bool {
		return spec.Read(rules.NewPicture(s, &spec.Composer)).State == coleo.Idle
	})
}

// countMissing returns the number of pictures on which a condition does not hold.
func (f feature) countMissing(list []*rules.Picture) (n int) {
	for _, p := range list {
		if !f.holds(p) {
			n++
		}
	}
	return n
}

// guardsAmong returns guards for a new rule of idle whose first condition looks at the composer. A
// guard is a second condition, with which the rule holds on no wiped screen: see wipedScreens. A guard
// holds on all pictures of the group. It must also hold while the composer contains text, because Coleo
// types a prompt only while a rule of idle holds.
func (e *editor) guardsAmong(list []feature, all []caseReading) (out []feature) {
	var wiped []*rules.Picture
	for _, s := range wipedScreens(e.spec, all) {
		if p := rules.NewPicture(s, &e.spec.Composer); p.Composer != nil {
			wiped = append(wiped, p)
		}
	}
	if len(wiped) == 0 {
		return nil
	}
	drafts := picturesOfDrafts(e.spec, all)
	for _, f := range list {
		if f.where == "composer" || f.where == "screen" || slices.ContainsFunc(wiped, f.holds) ||
			f.countMissing(e.pictures) > 0 || f.countMissing(drafts)*mostMissed > len(drafts) {
			continue
		}
		if out = append(out, f); len(out) == mostPairs {
			break
		}
	}
	return out
}
