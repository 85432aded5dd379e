package lengthening_test

import (
	"testing"

	"coleo.dev/policy/reading/lengthening"
)

func TestBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, by string
		all         bool
		want        int
	}{
		{"a", "", true, 1},
		{"a", "xy", false, 1},    // one match becomes a text of a fixed size
		{"a", "&&&", false, 3},   // the match can be the whole text
		{"a", "xyz", true, 3},    // each character can be a match
		{"a*", "xyz", true, 4},   // there is also an empty match between two characters
		{"[ab]*", "xy", true, 3}, // the same with a bracket expression
	} {
		if got := lengthening.By(c.pattern, c.by, c.all); got != c.want {
			t.Errorf("By(%q, %q, %t) = %d, want %d", c.pattern, c.by, c.all, got, c.want)
		}
	}
}
