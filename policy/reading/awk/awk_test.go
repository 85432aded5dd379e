package awk_test

import (
	"strings"
	"testing"

	"coleo.dev/policy/reading/awk"
)

// This test covers one script for each rule. The lines in policy/reading/testdata contain many more scripts.
func TestCheck(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`{print $1}`:                          "",
		`{n += $2} END {print n}`:             "",
		`NR > from {print}`:                   "",
		`{print $from}`:                       "as the number of a field",
		`{print > "new"}`:                     "is not known to only print",
		`BEGIN {system("x")}`:                 "contains system",
		`{s = s s $0} END {print s}`:          "fills the memory",
		`{for (i = 1; i <= from; i++) print}`: "a loop up to from",
		// With fewer values, a print like this one is accepted.
		`{print ` + strings.Repeat("$0,", 70) + `$0}`: "names a value more than",
	} {
		err := awk.Check(script, []string{"from=5000"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %v, want %q", script, err, want)
		}
	}
}

func TestIsSettable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"n": true, "FS": true, "NR": false, "ENVIRON": false, "print": false} {
		if got := awk.IsSettable(name); got != want {
			t.Errorf("IsSettable(%q) = %t", name, got)
		}
	}
}
