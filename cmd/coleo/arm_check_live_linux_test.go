package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// badThenGood makes the model answer with words first, and with JSON when Coleo asks again. The
// first answer takes a moment, so that a test can kill processes meanwhile.
var badThenGood = modelserver.Script{Rules: []modelserver.Rule{
	{Name: "good", When: modelserver.When{Contains: "cannot be used"}, Reply: []modelserver.Step{
		{Text: "Here it is:\n```json\n{\n  \"n\": 2\n}\n```"}}},
	{Name: "bad", When: modelserver.When{Contains: "Count the files."}, Reply: []modelserver.Step{
		{Pause: 1500}, {Text: "There are many."}}},
}}

// TestR9ARealAgentCLIIsAskedAgainOnce: the first answer is no JSON, and serve and the host agent
// are killed during the first turn. The model must receive exactly two prompts: the first one, and
// one that asks again.
func TestR9ARealAgentCLIIsAskedAgainOnce(t *testing.T) {
	t.Parallel()
	for _, c := range toolCallers {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := &live{world: newWorld(t, ""), name: "real"}
			l.model = startModel(t)
			l.check(l.model.SetScript(badThenGood))
			l.must("arm", "spawn", "-n", l.name, "-w", l.workdirOf(l.name), "--harness", c.harness, "--profile", "hermetic",
				"--home", l.path("agent-home"), "--endpoint", l.model.URL(), "--model", "mock-1", "--trust-workdir")
			l.wait(l.name, coleo.Idle)
			l.write("schema.json", numberSchema)
			first := decode[coleo.Receipt](l.world, "arm", "prompt", l.name, "--schema", l.path("schema.json"),
				"Count the files.")
			for _, verb := range []string{"serve", "agent"} {
				l.kill9(l.onlyProcess(verb))
			}
			l.must("up")
			end := l.awaitRun(first.ID)
			if end.Validated == nil || end.Validated.OK || end.Retry == "" {
				t.Fatalf("the first run ended with %+v\n%s", end, l.must("arm", "screen", l.name))
			}
			if again := l.awaitRun(end.Retry); again.Validated == nil || !again.Validated.OK {
				t.Fatalf("the second run ended with %+v\n%s", again, l.must("arm", "screen", l.name))
			}
			if got := l.must("run", "show", first.ID, "--answer"); got != "{\"n\":2}\n" {
				t.Errorf("run show --answer printed %q", got)
			}
			l.wait(l.name, coleo.Idle)
			l.checkTwoPrompts(first.Text)
		})
	}
}

// checkTwoPrompts checks that the model received exactly two prompts: the first one, and one that
// asks again.
func (l *live) checkTwoPrompts(first string) {
	l.t.Helper()
	var got []string
	for _, q := range l.model.Record() {
		if q.Prompt != "" && q.Side == "" {
			got = append(got, strings.TrimSpace(q.Prompt))
		}
	}
	if len(got) != 2 || got[0] != first || !strings.HasPrefix(got[1],
		"Your last answer cannot be used: the answer is not JSON") ||
		!strings.Contains(got[1], numberSchema) {
		l.t.Errorf("the model got %d prompts: %q", len(got), got)
	}
}
