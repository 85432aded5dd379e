package mend

import (
	"slices"
	"strings"
	"unicode"

	"coleo.dev/harnesses/terminal/rules"
)

// typedTexts are texts that a user has typed. Agent CLIs show a prompt again above the composer. Such a
// row is no sign of a state: it shows the words of this prompt, and the next prompt has other words.
type typedTexts []string

// shortestTyped is the smallest number of words of a typed text, and the smallest number of
// characters of a row that repeats a part of it. Shorter texts can be in a row by chance.
const (
	shortestTyped    = 2
	shortestRepeated = 6
)

// typedIn returns the texts that stood in the composer. Empty composers often show a hint, which is
// not a typed text.
func typedIn(spec *rules.Spec, all []taped) (out typedTexts) {
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

// repeats reports whether a row repeats a typed text, or a part of one. The row may have a mark before
// the text.
func (t typedTexts) repeats(row string) bool {
	text := strings.Join(strings.Fields(row), " ")
	text = strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(t, func(typed string) bool {
		return strings.Contains(text, typed) || len(text) >= shortestRepeated && strings.Contains(typed, text)
	})
}

// blanked returns rows with blank rows instead of those that repeat a typed text.
func (t typedTexts) blanked(rows []string) []string {
	rows = slices.Clone(rows)
	for i, row := range rows {
		if t.repeats(row) {
			rows[i] = ""
		}
	}
	return rows
}
