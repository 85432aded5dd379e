package commandline

import (
	"strings"
	"testing"
)

// TestALineThatGrowsIsRefused parses short lines whose words expand to more than the memory of the
// machine. Parse must refuse them without expanding them, or else the test does not end.
func TestALineThatGrowsIsRefused(t *testing.T) {
	t.Parallel()
	doubled := "x=aaaaaaaa" + strings.Repeat("; x=$x$x", 15)
	for name, line := range map[string]string{
		"a variable that doubles":    "x=aaaaaaaa" + strings.Repeat("; x=$x$x", 500) + "; echo $x",
		"a doubled variable, quoted": "x=a" + strings.Repeat(`; x="$x$x"`, 500) + "; echo x",
		"many words":                 doubled + "; echo" + strings.Repeat(" $x", 1000),
		"one long word":              doubled + "; echo " + strings.Repeat("$x", 1000),
		"a loop of long words":       doubled + "; for f in *.go a b c d; do ls $x; ls $x; done",
		"patterns in a long folder":  "x=./" + strings.Repeat("; x=$x$x", 17) + "; cat $x*",
	} {
		if _, err := Parse(line, Bash, "/w", folder); err == nil {
			t.Errorf("%s: the line is accepted", name)
		}
	}
}

// TestARowOfPipesIsBounded: each command of a pipe can print twice as much as it reads, so Parse must
// refuse a long pipe.
func TestARowOfPipesIsBounded(t *testing.T) {
	t.Parallel()
	row := "cat a.go" + strings.Repeat(" | sed p", mostPiped-1)
	if _, err := Parse(row, Bash, "/w", folder); err != nil {
		t.Errorf("%d commands: %v", mostPiped, err)
	}
	for _, line := range []string{row + " | sed p", "(" + row + ") | sed p", "{ " + row + "; } | sed p",
		"cat a.go | " + strings.Repeat("sed p | ", mostPiped-1) + "cat"} {
		if _, err := Parse(line, Bash, "/w", folder); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
