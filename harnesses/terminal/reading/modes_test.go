package reading_test

import (
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
)

// modesOf maps recordings to the modes that their screens show, in order. There is one recording
// for each agent CLI, in which a person switches to all of its modes.
var modesOf = map[string][]string{
	"claude-code-2.1.329/modes": {"bypassPermissions", "auto", "default", "acceptEdits", "plan", "bypassPermissions",
		"auto", "default", "acceptEdits", "plan", "bypassPermissions", "auto", "default", "acceptEdits", "plan",
		"bypassPermissions"},
	"codex-0.169.0/modes":   {"default", "plan", "default"},
	"copilot-1.0.102/modes": {"interactive", "plan", "autopilot", "interactive"},
	"gemini-0.61.0/modes": {"default", "auto_edit", "plan", "default", "auto_edit", "yolo", "auto_edit", "plan",
		"default"},
	"opencode-1.18.33/modes": {"build", "plan", "build"},
	"qwen-0.24.4/modes":      {"default", "plan", "yolo", "auto-edit", "auto", "default"},
}

func TestM2EachModeIsReadInARecording(t *testing.T) {
	t.Parallel()
	for name, want := range modesOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness(t, name)
			var got []string
			h.Replay(reading.Recording{Cast: casttest.Cast(t, name), Until: -1}, func(c coleo.Change) {
				if c.Kind == coleo.ChangeMode {
					got = append(got, c.Reading.Mode)
				}
			})
			if !slices.Equal(got, want) {
				t.Errorf("the modes read are\n%q, want\n%q", got, want)
			}
			for _, m := range h.spec.ModeList() {
				if !slices.Contains(got, m.ID) {
					t.Errorf("no recording shows the mode %s", m.ID)
				}
			}
		})
	}
}
