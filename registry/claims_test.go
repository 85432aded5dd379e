package registry

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// claims lists the capabilities that each built-in harness claims. The conformance suite skips the others, so
// it would not notice a removed capability. With this list, a review shows each removal.
var claims = map[string]string{
	"aider": "approval command_execution file_editing interrupt model_flag multi_turn resume streaming usage",
	"claude-code": "approval command_execution compact file_editing interrupt mcp model_flag modes multi_turn " +
		"question queue redraw resume streaming usage",
	"cline": "approval command_execution file_editing interrupt model_flag multi_turn streaming",
	"codex": "approval command_execution compact file_editing interrupt mcp model_flag modes multi_turn " +
		"redraw resume streaming usage",
	"continue": "approval command_execution compact file_editing interrupt multi_turn question streaming",
	"copilot": "approval command_execution compact file_editing interrupt mcp model_flag modes multi_turn " +
		"redraw resume streaming",
	"gemini": "approval command_execution compact file_editing interrupt mcp model_flag modes multi_turn " +
		"queue redraw resume streaming usage",
	"generic": "command_execution interrupt multi_turn streaming",
	"kilo": "approval command_execution compact file_editing interrupt mcp model_flag multi_turn " +
		"question redraw resume streaming usage",
	"opencode": "approval command_execution compact file_editing interrupt mcp model_flag modes multi_turn " +
		"question redraw resume streaming usage",
	"opencode-api": "approval command_execution compact file_editing interrupt mcp model_flag multi_turn question " +
		"resume streaming usage",
	"opencode-tui": "approval command_execution compact file_editing interrupt mcp model_flag multi_turn question " +
		"resume streaming usage window",
	"qwen": "approval command_execution compact file_editing interrupt mcp model_flag modes multi_turn " +
		"question redraw resume streaming",
	"roo": "", // Roo Code has never been run
}

func TestHarnessesClaimWhatTheyDid(t *testing.T) {
	t.Parallel()
	r, err := New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range r.List() {
		h, err := r.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := claimed(t, h.Info().Capabilities), claims[name]; got != want {
			t.Errorf("%s claims\n  %s, want\n  %s", name, got, want)
		}
	}
	for name := range claims {
		if !slices.Contains(r.List(), name) {
			t.Errorf("%s is no harness any more", name)
		}
	}
}

// claimed returns the claimed capabilities by their JSON names.
func claimed(t *testing.T, c coleo.Capabilities) string {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]bool
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for name, on := range all {
		if on {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// If Coleo reads the record of a harness's agent CLI, the harness must claim that it reports calls,
// texts and subagents. Without these claims, the conformance suite would not check the reports.
func TestEachHarnessDeclaresWhatItReports(t *testing.T) {
	t.Parallel()
	onlyAnswers := []string{"aider"} // its record has only the text of the conversation
	r, err := New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range builtins() {
		h, err := r.Get(b.name)
		if err != nil {
			t.Fatal(err)
		}
		w, reports := h.Info().Work, b.hooks.Record.Open != nil && !slices.Contains(onlyAnswers, b.name)
		if w.Calls != reports || w.Texts != reports || w.Usage != reports || (w.SubagentTool != "") != reports {
			t.Errorf("%s says of its events %+v, and Coleo reads its record: %t", b.name, w, reports)
		}
		if b.hooks.Record.Open != nil && w.Uncounted == "" {
			t.Errorf("%s does not say which calls of the model its figures lack", b.name)
		}
	}
}
