package mend

import (
	"slices"
	"strings"
	"unicode"

	"coleo.dev/harnesses/terminal/rules"
)

// typedTexts are texts that a user has typed. An agent CLI repeats a prompt in the rows above the
// composer. Such a row is no sign of a state, because the next prompt has other words.
type typedTexts []string

// A row can contain a short text by chance. So a text counts as typed by the user only if it has at least
// shortestTyped words. A row counts as a repetition of a part of such a text only if it has at least
// shortestRepeated bytes.
const (
	shortestTyped    = 2
	shortestRepeated = 6
)

// typedIn returns the texts that were in the composer, without the hints that empty composers often
// show.
func typedIn(spec *rules.Spec, all []caseReading) (out typedTexts) {
	for i := range all {
		for _, s := range all[i].shots {
			if !s.composer {
				continue
			}
			view := rules.NewPicture(s.screen, &spec.Composer).Composer
			if view == nil || view.Empty {
				continue
			}
			if words := strings.Fields(view.Text); len(words) >= shortestTyped {
				out = append(out, strings.Join(words, " "))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// repeats reports whether a row repeats a typed text, or a part of one. Before the text, the row may
// have a sign such as ">".
func (t typedTexts) repeats(row string) bool {
	text := strings.Join(strings.Fields(row), " ")
	text = strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(t, func(typed string) bool {
		return strings.Contains(text, typed) || len(text) >= shortestRepeated && strings.Contains(typed, text)
	})
}

// blankIn returns a copy of the rows in which each row that repeats a typed text is blank.
func (t typedTexts) blankIn(rows []string) []string {
	rows = slices.Clone(rows)
	for i, row := range rows {
		if t.repeats(row) {
			rows[i] = ""
		}
	}
	return rows
}
