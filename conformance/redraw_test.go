package conformance

import (
	"strings"
	"testing"
)

func TestWhatMayBeMissingAfterARedraw(t *testing.T) {
	t.Parallel()
	before := strings.Split("a b c d e f g h i j k l m", " ")
	for _, c := range []struct {
		now  string
		kept int
		same bool
	}{
		{"a b c d e f g h i j k l m", 8, true},
		{"a b c d e f g h j k l m", 8, true},    // a wiped row is missing
		{"a b c d e f g h m", 8, true},          // all wiped rows except one
		{"a b c d e f g h", 8, false},           // nothing was drawn again
		{"a b c f g h i j k l m", 8, true},      // two rows above the wipe are missing
		{"a b h i j k l m", 8, true},            // five rows above the wipe are missing
		{"a i j k l m", 8, false},               // seven rows above the wipe are missing
		{"a b c f g h i j k l", 8, false},       // rows above the wipe are missing, and so is the last row
		{"a b d e g h i j k l m", 8, false},     // rows in two places are missing
		{"a b c x e f g h i j k l m", 8, false}, // there is a new row
		{"h i j k l m", 0, true},                // the whole screen was wiped, and the transcript is missing
		{"a b c i j k l m", 0, false},
	} {
		if d := firstDifference(before, strings.Fields(c.now), c.kept); (d == "") != c.same {
			t.Errorf("%s, of which %d were kept: %q", c.now, c.kept, d)
		}
	}
}

func TestAScrollBarIsNoText(t *testing.T) {
	t.Parallel()
	bar := strings.Repeat(" ", 20)
	before := texts([]string{"  an answer" + bar + "│", bar + "█", "", "│ a box" + bar + "│", "│" + bar + "│"})
	now := texts([]string{"  an answer", "", "", "│ a box" + bar + "│", "│" + bar + "│"})
	if len(before) != 3 || firstDifference(before, now, 0) != "" {
		t.Errorf("the rows with text are %q, and without the scroll bar %q", before, now)
	}
}
