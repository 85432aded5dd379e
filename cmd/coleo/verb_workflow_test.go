package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"coleo.dev/registry"
)

const workflow = "../../docs/examples/coleo-harness.yml"

var (
	matrix  = regexp.MustCompile(`(?m)^ +agent: \[(.+)\]$`)
	invoked = regexp.MustCompile(`(?m)(?:run: |^ +)coleo ((?:.+\n +--)*.+)$`)
	actions = regexp.MustCompile(`(?m)^ +(?:- )?uses: (\S+)$`)
)

// Users copy the GitHub workflow of this repository. It must call only existing verbs and flags,
// for agent CLIs that can be installed. This test cannot check whether GitHub accepts the workflow.
func TestTheWorkflowCallsWhatThereIs(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(workflow)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if strings.Contains(text, "\t") {
		t.Error("YAML takes no tabs")
	}
	calls := invoked.FindAllStringSubmatch(text, -1)
	if len(calls) != 2 {
		t.Fatalf("the workflow calls coleo %d times, want 2: %q", len(calls), calls)
	}
	for _, call := range calls {
		args := strings.Fields(strings.NewReplacer(`"`, "", "${{ matrix.agent }}", "NAME").Replace(call[1]))
		command, rest, err := newRootCommand().Find(args)
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err == nil {
			err = command.ValidateArgs(command.Flags().Args())
		}
		if err != nil || !command.Runnable() {
			t.Errorf("coleo %q: %v", args, err)
		}
	}
	if !strings.Contains(calls[1][1], "--junit") || !strings.Contains(text, "junit-*.xml") {
		t.Error("the workflow keeps no JUnit report")
	}
	for _, action := range actions.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(action[1], "@v") {
			t.Errorf("%s has no version", action[1])
		}
	}
}

func TestTheWorkflowsAgentCLIsCanBeInstalled(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(workflow)
	if err != nil {
		t.Fatal(err)
	}
	list := matrix.FindSubmatch(raw)
	if list == nil {
		t.Fatal("the workflow has no matrix")
	}
	reg, err := registry.New("", []string{"none"})
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(string(list[1]), ", ") {
		h, err := reg.Get(name)
		if err != nil || h.Info().Package == "" {
			t.Errorf("%s cannot be installed: %v", name, err)
		}
	}
}
