package rules

import (
	"os"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// These are pictures of Codex 0.169.0 that no earlier rule knew. They show the dialogs in plan mode, and the
// page after the user has refused to trust the folder.
func TestCodexDialogsOfPlanModeAreRead(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../codex/harness.toml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ParseSpec("harness.toml", raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rows, rule, title string
		kind              coleo.DialogKind
		options           []string
	}{
		{"› do it\n\n  Question 1/1 (1 unanswered)\n  Which colour?\n\n  › 1. Red                like fire\n" +
			"    2. Blue               like water\n    3. None of the above  Optionally, add details in notes (tab)\n\n" +
			"  tab to add notes | enter to submit answer | esc to interrupt",
			"question", "Which colour?", coleo.DialogQuestion, []string{"Red", "Blue", "None of the above"}},
		{"› do it\n\n• Proposed Plan\n\n  # Plan\n\n  Write it down.\n\n  Implement this plan?\n\n" +
			"› 1. Yes, implement this plan          Switch to Default and start coding\n" +
			"  2. Yes, clear context and implement  Start a fresh thread (current context: 1% used)\n" +
			"  3. No, stay in Plan mode             Continue planning with the model\n\n  enter select · esc back",
			"plan", "Implement this plan?", coleo.DialogPlan,
			[]string{"Yes, implement this plan", "Yes, clear context and implement", "No, stay in Plan mode"}},
		{"  Agent command center  Group: Project  g\n   All 0   Needs you 0\n\n  No tasks yet\n\n" +
			"  ? help  ↑/↓ move  enter open  n new", "tasks", "Agent command center", coleo.DialogOther, nil},
	} {
		rows := strings.Split(c.rows, "\n")
		v := spec.Read(NewPicture(coleo.Screen{Cols: 120, Rows: len(rows), Lines: rows}, &spec.Composer))
		if v.Dialog == nil || v.Rule != c.rule || v.Dialog.Kind != c.kind || v.Dialog.Title != c.title ||
			!slices.Equal(v.Dialog.Options, c.options) {
			t.Errorf("rule %q, dialog %+v; want %q, %q with %q", v.Rule, v.Dialog, c.rule, c.title, c.options)
		}
	}
}
