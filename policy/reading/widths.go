package reading

import (
	"fmt"
	"regexp"
	"slices"

	"coleo.dev/policy/commandline"
)

var (
	// wideField matches a field of a format with a width of five digits or more, such as %99999s, and
	// %w(99999) in git. One such field can fill the memory of the machine.
	wideField = regexp.MustCompile(`%([A-Za-z]+\([^)%]*|[^%A-Za-z\s]*)[0-9]{5,}`)
	// wideOption matches a word with such a number alone, or behind an option.
	wideOption = regexp.MustCompile(`^(-[A-Za-z]+|--[a-z-]+=)?[0-9,+/]*[0-9]{5,}[0-9,+/]*$`)
	// widened lists the programs with an option for a width of what they write.
	widened = []string{"diff", "expand", "nl", "unexpand"}
)

// checkWidths refuses a width with which a program writes far more than it reads.
func checkWidths(name string, words []commandline.Word) error {
	for _, w := range words {
		if wideField.MatchString(w.Text) || slices.Contains(widened, name) && wideOption.MatchString(w.Text) {
			return fmt.Errorf("%s has a width of five digits or more", shortened(w.Text))
		}
	}
	return nil
}
