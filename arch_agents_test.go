package coleo_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// agentNames matches the names of agent CLIs and of their harnesses. Code that depends on one agent
// CLI belongs in the harness of this agent CLI.
var agentNames = regexp.MustCompile(
	`(?i)claude|opencode|\baider\b|\bcodex\b|gemini|anthropic|qwen|\bcline\b|copilot|\bkilo\b|` +
		`continue-?cli|\broo\b`)

// mayNameAgents contains the places in the tree where code may contain the name of an agent CLI,
// each with the reason.
var mayNameAgents = []string{
	"harnesses/",              // has a folder for each harness
	"registry/registry.go",    // contains the list of harnesses
	"conformance/modelserver", // answers in the formats of the model vendors, whose names are also names of agent CLIs
	"modelresolver/",          // the name of a model contains its vendor
	"pricebook/",              // the name of a model contains its vendor
	"api/opencode",            // the published API has routes with this name
	"api/apiclient/arms.go",   // calls a route with this name
	"api/token/routes.go",     // contains all routes, also the routes with this name
	"brain/catalogue",         // carries out the requests to these routes
	"cmd/coleo/server/demo",   // starts one arm of each agent CLI for `coleo up --demo`
	"store/",                  // its tests store model catalogues
	"pty/testdata",
}

func TestAgentCLIsAreNamedWhereTheyMayBe(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.isTest() || slices.ContainsFunc(mayNameAgents,
			func(p string) bool { return strings.HasPrefix(s.path, p) }) {
			continue
		}
		raw, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(raw), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if name := agentNames.FindString(code); name != "" {
				t.Errorf("%s:%d names %q: that belongs into a harness", s.path, n+1, name)
			}
		}
	}
}

// noAgents contains the folders in harnesses that belong to no particular agent CLI.
var noAgents = []string{"terminal", "generic"}

// TestAgentCLIsAreNamedWhereTheyMayBe knows an agent CLI only if agentNames matches its name. This
// test fails if a new harness was not added to agentNames.
func TestTheNameOfEachHarnessIsKnown(t *testing.T) {
	t.Parallel()
	folders, err := os.ReadDir("harnesses")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && !slices.Contains(noAgents, f.Name()) && !agentNames.MatchString(f.Name()) {
			t.Errorf("agentNames in arch_agents_test.go does not match %s, the folder of a harness: add the name", f.Name())
		}
	}
}
