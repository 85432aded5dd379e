package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/cmd/coleo/verb"
)

// cli runs one command line and returns its output and its exit code.
func cli(t *testing.T, args ...string) (out, err string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	root := newRootCommand()
	root.SetOut(&o)
	root.SetErr(&e)
	code = verb.Execute(t.Context(), root, args)
	return o.String(), e.String(), code
}

func catalogFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const someCatalog = `{"providers":[
	{"id":"anthropic","name":"Anthropic","models":[{"id":"claude-sonnet-4","name":"Claude Sonnet 4"}]},
	{"id":"opencode","name":"OpenCode","models":[{"id":"claude-sonnet-4"},{"id":"free","cost":{"input":0,` +
	`"output":0}}]}],
	"connected":["opencode"]}`

func TestModelsResolve(t *testing.T) {
	t.Parallel()
	file := catalogFile(t, someCatalog)
	elsewhere := `Provider "anthropic" not available, using OpenCode` + "\n"
	asJSON := `{
  "provider": "opencode",
  "model": "claude-sonnet-4",
  "provider_name": "OpenCode",
  "model_name": "claude-sonnet-4",
  "fallback": true,
  "reason": "Provider \"anthropic\" not available, using OpenCode",
  "asked": {
    "model": "anthropic/claude-sonnet-4",
    "price": {
      "input": 3,
      "output": 15,
      "cache_read": 3,
      "cache_write": 3,
      "source": "book"
    }
  },
  "used": {
    "model": "opencode/claude-sonnet-4",
    "price": {
      "input": 3,
      "output": 15,
      "cache_read": 3,
      "cache_write": 3,
      "source": "book"
    }
  }
}
`
	for name, c := range map[string]struct {
		args     string
		out, err string
		code     int
	}{
		"what is there is printed":        {"opencode/free", "opencode/free\n", "", 0},
		"a fallback says why on the side": {"anthropic/claude-sonnet-4", "opencode/claude-sonnet-4\n", elsewhere, 0},
		"provider and model apart": {"--provider anthropic --model claude-sonnet-4",
			"opencode/claude-sonnet-4\n", elsewhere, 0},
		"provider and model in one flag": {"--model anthropic/claude-sonnet-4",
			"opencode/claude-sonnet-4\n", elsewhere, 0},
		"a provider alone": {"--provider opencode", "opencode/free\n", "", 0},
		"for programs":     {"anthropic/claude-sonnet-4 --json", asJSON, elsewhere, 0},
		"a stricter strategy": {"--fallback none anthropic/claude-sonnet-4", "",
			`coleo: the model "anthropic/claude-sonnet-4" is not available, and the fallback strategy none takes no other ` +
				"one; nothing was done; there are opencode/claude-sonnet-4, opencode/free\n", 4},
		"no wish": {"", "",
			"coleo: coleo models resolve takes PROVIDER/MODEL, or --provider and --model (see coleo models resolve " +
				"--help)\n",
			2},
		"two wishes": {"a/b c/d", "",
			"coleo: coleo models resolve takes PROVIDER/MODEL, or --provider and --model (see coleo models resolve " +
				"--help)\n",
			2},
		"a wish by argument and one by flag": {"a/b --model c", "",
			"coleo: coleo models resolve takes PROVIDER/MODEL, or --provider and --model (see coleo models resolve " +
				"--help)\n",
			2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err, code := cli(t, append([]string{"models", "resolve", "--catalog", file},
				strings.Fields(c.args)...)...)
			if out != c.out || err != c.err || code != c.code {
				t.Errorf("resolve %s: exit %d\n%s\nstderr %s\nwant exit %d\n%s\nstderr %s",
					c.args, code, out, err, c.code, c.out, c.err)
			}
		})
	}
}

func TestModelsList(t *testing.T) {
	t.Parallel()
	out, _, code := cli(t, "models", "list", "--catalog", catalogFile(t, someCatalog))
	want := "MODEL                     NAME             $/M IN  $/M OUT  PRICE FROM\n" +
		"opencode/free             free             0       0        catalog\n" +
		"opencode/claude-sonnet-4  claude-sonnet-4  3       15       book\n"
	if out != want || code != 0 {
		t.Errorf("list = exit %d\n%s\nwant\n%s", code, out, want)
	}
	if out, _, code = cli(t, "models", "list", "--json", "--catalog", catalogFile(t, `{"all":[]}`)); out != "[]\n" ||
		code != 0 {
		t.Errorf("list of nothing = exit %d %q, want []", code, out)
	}
}

func TestModelsSayWhatIsWrongWithTheCatalogue(t *testing.T) {
	t.Parallel()
	broken := catalogFile(t, `{"all":[{}]}`)
	missing := filepath.Join(t.TempDir(), "none.json")
	for name, c := range map[string]struct {
		file []string
		want string
		code int
	}{
		"none was named": {nil,
			"coleo: Coleo does not run here: start it with 'coleo up', or name a file with --catalog\n", 8},
		"it is missing": {[]string{"--catalog", missing}, "coleo: read model catalogue: open " +
			missing + ": no such file or directory\n", 2},
		"it is malformed": {[]string{"--catalog", broken},
			"coleo: read " + broken + ": model catalogue: all[0]: it has no id\n", 2},
	} {
		for _, verb := range [][]string{{"models", "list"}, {"models", "resolve", "p/m"}} {
			out, err, code := cli(t, append(verb, c.file...)...)
			if out != "" || err != c.want || code != c.code {
				t.Errorf("%s: %v = exit %d, %q, %q; want exit %d, %q", name, verb, code, out, err, c.code, c.want)
			}
		}
	}
}
