package brain

import (
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// TestR9AnOlderHostAgentTypesNoCheckedPrompt is needed because an older host agent would type the
// prompt and ignore the checks.
func TestR9AnOlderHostAgentTypesNoCheckedPrompt(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "arm-1", Name: "ada", Harness: "aider", Status: coleo.StatusIdle,
		State: coleo.Idle, AgentID: scriptedHost, Workdir: "/w", Generation: 1}))
	s.alwaysAnswer(bus.OpPrompt, coleo.Receipt{ID: "run-1"})
	p := coleo.Prompt{Text: "hello", Check: &coleo.Check{Schema: json.RawMessage("true")}}
	if _, err := s.brain.Prompt(t.Context(), "ada", p, ""); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("the prompt = %v, want %s", err, coleo.EUnsupported)
	}
	s.alwaysAnswer(bus.OpChecked, coleo.Receipt{ID: "run-2"})
	if r, err := s.brain.Prompt(t.Context(), "ada", p, ""); err != nil || r.ID != "run-2" {
		t.Errorf("the prompt for a newer host agent = %+v, %v", r, err)
	}
}
