package printable

import (
	"os/exec"
	"strings"
	"testing"
)

func TestAWordForAShellIsOneWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"plain-1.2/x@y", "plain-1.2/x@y"},
		{"", "''"},
		{"my lib", "'my lib'"},
		{"it's", `'it'\''s'`},
		{"$(touch x);`id`&|<>*?[]{}~#!=\\\"", "'$(touch x);`id`&|<>*?[]{}~#!=\\\"'"},
		{"~/x", "'~/x'"},
		{"名前", "'名前'"},
		{"a\nb'c\\d", `$'a\012b\'c\\d'`},
		{"left\u202eright", `$'left\342\200\256right'`},
		{"bad\xff1", `$'bad\3771'`},
	} {
		got := ShellWord(c.in)
		if got != c.want {
			t.Errorf("ShellWord(%q) = %s, want %s", c.in, got, c.want)
		}
		if bash, err := exec.LookPath("bash"); err == nil {
			out, err := exec.Command(bash, "-c", "printf '%s|' "+got).Output()
			if err != nil || string(out) != c.in+"|" {
				t.Errorf("bash reads %s as %q, %v", got, out, err)
			}
		}
		if strings.ContainsAny(got, "\n\u202e") {
			t.Errorf("%q has an invisible character", got)
		}
	}
}
