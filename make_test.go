package coleo_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The demonstration uses the user's own logins only if the make command line asks for it, because
// these can cost money. An environment variable with the same name must not be enough.
func TestTheDemonstrationUsesAnOwnLoginOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		env  string
		want bool
	}{
		"by itself":                      {args: []string{"up"}},
		"with a variable of that name":   {args: []string{"up"}, env: "KEYS=1"},
		"as the command line has it":     {args: []string{"up", "KEYS=1"}, want: true},
		"with an empty one on that line": {args: []string{"up", "KEYS="}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("make", append([]string{"--dry-run"}, c.args...)...)
			cmd.Env = slices.DeleteFunc(cmd.Environ(), func(v string) bool {
				return strings.HasPrefix(v, "KEYS=") ||
					strings.HasPrefix(v, "MAKE")
			})
			if c.env != "" {
				cmd.Env = append(cmd.Env, c.env)
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("make: %v\n%s", err, out)
			}
			if !strings.Contains(string(out), "up --demo") {
				t.Fatalf("make up does not start the demonstration:\n%s", out)
			}
			if got := strings.Contains(string(out), "--own-login"); got != c.want {
				t.Errorf("uses an own login: %v, want %v\n%s", got, c.want, out)
			}
		})
	}
}
