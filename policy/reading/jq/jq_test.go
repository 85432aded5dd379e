package jq_test

import (
	"strings"
	"testing"

	"coleo.dev/policy/reading/jq"
)

// This test covers one filter for each rule. The lines in policy/reading/testdata contain many more filters.
func TestCheck(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		`.items[] | select(.n > 2) | .name`: "",
		`map({key: .a, other: "\(.b)"})`:    "",
		`env`:                               "is not known to only calculate",
		`.[`:                                "is incomplete",
		`test("(a+)+b")`:                    "can take very long",
		`range(100000)`:                     "fills the memory",
	} {
		err := jq.Check(filter)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %v, want %q", filter, err, want)
		}
	}
}
