package coleo_test

import (
	"strings"
	"testing"

	"coleo.dev"
)

func TestNamesOfArms(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "9": true, "Arm-1_b.c": true, strings.Repeat("x", 63): true,
		"": false, "-a": false, ".a": false, "_a": false, "a b": false, "a/b": false, "é": false, "a\n": false,
		strings.Repeat("x", 64): false,
	} {
		err := coleo.CheckName(name)
		if (err == nil) != ok || !ok && coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("CheckName(%q) = %v, want it to pass: %v", name, err, ok)
		}
	}
}
