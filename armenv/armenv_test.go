package armenv_test

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/armenv"
)

func TestVariablesThatAnArmMayNotGetAreRefusedByTheirNameAlone(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, name := range []string{
		"", "1A", "A-B", "A B", "A.B", "Ä", "A=B",
		"COLEO_DIR", "COLEO_ARM", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES",
		"TERM", "HOME",
		"PWD", "LINES",
	} {
		err := armenv.Check(map[string]string{"FINE": "x", name: secret})
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), name) ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("Check with %q = %v, want an error that names it, without its value", name, err)
		}
	}
	for _, name := range []string{"A", "_", "a1_B", "PATH", "LDFLAGS", "COLEOPTERA", "TERMINFO", "HOMEBREW_PREFIX"} {
		if err := armenv.Check(map[string]string{name: ""}); err != nil {
			t.Errorf("Check with %q = %v, want none", name, err)
		}
	}
}

func TestValuesThatNoProgramCanGetAreRefused(t *testing.T) {
	t.Parallel()
	for what, env := range map[string]map[string]string{
		"a zero byte":      {"A": "hunter2\x00"},
		"a value too long": {"A": strings.Repeat("hunter2", 10<<10)},
		"too much together": {"A": strings.Repeat("hunter2", 9<<10), "B": strings.Repeat("hunter2", 9<<10),
			"C": strings.Repeat("hunter2", 9<<10), "D": strings.Repeat("hunter2", 9<<10),
			"E": strings.Repeat("hunter2", 9<<10)},
	} {
		if err := armenv.Check(env); coleo.ErrorCode(err) != coleo.EInvalid ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: Check = %v, want an error without the value", what, err)
		}
	}
}
