package show

import (
	"testing"

	"coleo.dev"
)

func TestAnInterruptSaysWhatItPressedAndSaw(t *testing.T) {
	t.Parallel()
	for want, did := range map[string]coleo.Interruption{
		"Interrupted one: pressed ESCAPE ESCAPE; it is idle now (composer)": {Was: coleo.Processing,
			Pressed: []string{"ESCAPE", "ESCAPE"}, State: coleo.Idle, Rule: "composer"},
		`Interrupted one: denied "Run it?"; it is idle now (composer)`: {Was: coleo.WaitingApproval,
			Denied: "Run it?", State: coleo.Idle, Rule: "composer"},
		`Interrupted one: denied "Run it?" and pressed ESCAPE; it is idle now (composer)`: {Was: coleo.WaitingApproval,
			Pressed: []string{"ESCAPE"}, Denied: "Run it?", State: coleo.Idle, Rule: "composer"},
		"one runs no turn, so nothing was pressed: it is idle (composer)": {Was: coleo.Idle, State: coleo.Idle,
			Rule: "composer"},
		"Interrupted one": {}, // an older host agent reports no details
	} {
		if got := Interrupted("one", did); got != want {
			t.Errorf("%+v: %q, want %q", did, got, want)
		}
	}
}
