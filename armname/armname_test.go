package armname_test

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/armname"
)

func TestNamesOfArms(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "9": true, "Arm-1_b.c": true, strings.Repeat("x", 63): true,
		"": false, "-a": false, ".a": false, "_a": false, "a b": false, "a/b": false, "é": false, "a\n": false,
		strings.Repeat("x", 64): false,
	} {
		err := armname.Check(name)
		if (err == nil) != ok || !ok && coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("Check(%q) = %v, want it to pass: %v", name, err, ok)
		}
	}
}

func TestNamesAreInTheOrderInWhichPeopleCount(t *testing.T) {
	t.Parallel()
	want := []string{"a", "arm-1", "arm-2", "arm-2-x", "arm-02", "arm-10", "arm-10a", "arm-100", "b2",
		"b10c2", "b10c10"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int {
		switch {
		case armname.Less(a, b):
			return -1
		case armname.Less(b, a):
			return 1
		}
		return 0
	})
	if !slices.Equal(got, want) {
		t.Errorf("sorted: %q, want %q", got, want)
	}
}
