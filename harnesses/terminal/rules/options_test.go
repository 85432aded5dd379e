package rules

import (
	"strings"
	"testing"

	"coleo.dev"
)

// In a list of 12 options, each option must be available if arrows select it. If digits select the options,
// only the first nine must be available, because no single key selects the others.
func TestEachOptionOfALongListIsOffered(t *testing.T) {
	t.Parallel()
	d := &coleo.Dialog{Title: "Which?", Options: strings.Split("a b c d e f g h i j k l", " ")}
	rule := &DialogRule{Select: "arrows"}
	for option := 1; option <= len(d.Options); option++ {
		n, err := rule.optionFor(d, coleo.Decision{Choice: coleo.ChoiceAnswer, Option: option})
		if err != nil || n != option-1 {
			t.Errorf("option %d is %d, %v", option, n, err)
		}
		key, err := Verdict{Dialog: d}.digit(option - 1)
		if option <= 9 && (err != nil || string(key) != string(rune('0'+option))) {
			t.Errorf("option %d is picked by %q, %v", option, key, err)
		}
		if option > 9 && coleo.ErrorCode(err) != coleo.EUnsupported {
			t.Errorf("option %d is picked by %q, %v; no key does", option, key, err)
		}
	}
	for _, option := range []int{-1, 0, 13} {
		if _, err := rule.optionFor(d, coleo.Decision{Choice: coleo.ChoiceAnswer,
			Option: option}); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("option %d: %v", option, err)
		}
	}
}
