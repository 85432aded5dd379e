package model

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/wire"
)

// OpenCode's free models need no login. Both verbs must show that, and neither may show a login.
func TestFreeModelsNeedNoLoginInBothVerbs(t *testing.T) {
	t.Parallel()
	priced := func(dollars float64) *coleo.Price {
		return &coleo.Price{Rates: coleo.Rates{Input: dollars, Output: dollars}}
	}
	model := func(name string, connected bool, price *coleo.Price) wire.Model {
		return wire.Model{Provider: "p", Model: name, Connected: connected, Harnesses: []string{"opencode"}, Price: price}
	}
	list := []wire.Model{model("free", true, priced(0)), model("paid", true, priced(1)), model("priceless", true, nil),
		model("away", false, priced(0))}
	for name, c := range map[string]struct {
		models []wire.Model
		in     bool
		list   []string // expected value of LOGGED IN for each model
		logins string
	}{
		"free models": {list[:1], false, []string{"not needed"}, "opencode  h     no         not needed for 1 free model"},
		"a key in the agent CLI's own settings": {list, false, []string{"not needed", "yes", "yes", "no"},
			"opencode  h     yes        its catalogue"},
		"a login":      {list, true, []string{"yes", "yes", "yes", "yes"}, "opencode  h     yes        auth.json"},
		"no catalogue": {list[3:], false, []string{"no"}, "opencode  h     no         -"},
	} {
		login := coleo.Login{Harness: "opencode", Host: "h", LoggedIn: c.in}
		if c.in {
			login.Files = []string{"auth.json"}
		}
		models := wire.Models{Models: c.models, Logins: []coleo.Login{login}}
		for i, m := range c.models {
			if got := loginFor(m, models.Logins); got != c.list[i] {
				t.Errorf("%s: models list says %q of %s, want %q", name, got, m.Model, c.list[i])
			}
		}
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		if err := printLogins(cmd, models); err != nil || !strings.Contains(out.String(), c.logins) {
			t.Errorf("%s: models logins prints %v\n%s\nwant %q", name, err, out.String(), c.logins)
		}
	}
}
