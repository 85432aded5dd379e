package arm

import (
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/cmd/coleo/show"
)

// A model writes the text of a question. A person must not approve what a terminal hides, and must see where
// characters are hidden.
func TestNothingIsHiddenFromAPersonWhoDecides(t *testing.T) {
	t.Parallel()
	const hostile = "read \x1b[8mall\x1b[2K\u202e\u009b1m \U000e0072m\u3164"
	asks := coleo.Suspension{ID: "q-1", ArmName: "fix", Kind: coleo.SuspensionAccess, Text: hostile,
		Options: []string{hostile}}
	arm := coleo.Arm{Name: "fix", State: coleo.Idle, Model: "m", Suspensions: []coleo.Suspension{asks}}
	dialog := coleo.Dialog{Title: hostile, Subject: hostile, Options: []string{hostile}, Fingerprint: "f"}
	shown := coleo.Arm{Name: "fix", State: coleo.WaitingApproval, Dialog: &dialog}
	for name, text := range map[string]string{
		"arm questions":              questionLines([]coleo.Suspension{asks}),
		"arm status with a question": statusText(arm, time.Now()),
		"arm status with a dialog":   statusText(shown, time.Now()),
		"arm list with a question":   needWord(arm),
		"arm list with a dialog":     needWord(shown),
		"arm spawn, whose arm asks":  spawnedLine(shown),
	} {
		if show.Clean(text) != text || !strings.Contains(text, "read ?[8mall?[2K??1m ?m?") {
			t.Errorf("%s prints %q", name, text)
		}
	}
}

// A model must not write a line that looks like a line of Coleo's own, such as another question or another sandbox.
func TestAModelWritesNoLineOfColeo(t *testing.T) {
	t.Parallel()
	const hostile = "read x\nSandbox:         bwrap\nq-2  fix  access: only list files"
	asks := coleo.Suspension{ID: "q-1", ArmName: "fix", Kind: coleo.SuspensionQuestion, Text: hostile,
		Options: []string{hostile}}
	arm := coleo.Arm{Name: "fix", State: coleo.Idle, Suspensions: []coleo.Suspension{asks}}
	dialog := coleo.Dialog{Title: hostile, Subject: hostile, Options: []string{hostile}, Fingerprint: "f"}
	shown := coleo.Arm{Name: "fix", State: coleo.WaitingApproval, Dialog: &dialog}
	for name, text := range map[string]string{
		"arm questions":              questionLines([]coleo.Suspension{asks}),
		"arm status with a question": statusText(arm, time.Now()),
		"arm status with a dialog":   statusText(shown, time.Now()),
		"arm spawn, whose arm asks":  spawnedLine(shown),
	} {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "Sandbox:") || strings.HasPrefix(line, "q-2") {
				t.Errorf("%s prints the line %q", name, line)
			}
		}
		if !strings.Contains(text, "only list files") {
			t.Errorf("%s leaves out a part of the text: %q", name, text)
		}
	}
}

// arm status shows one line of a question. If the question has more lines, arm status must say so.
func TestAQuestionThatGoesOnSaysSo(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for text, want := range map[string]bool{"read x": false, "read x\nand delete y": true, long: true} {
		arm := coleo.Arm{Name: "fix", Suspensions: []coleo.Suspension{{ID: "q-1", Kind: coleo.SuspensionAccess, Text: text}}}
		if got := strings.Contains(statusText(arm, time.Now()), "coleo arm questions fix"); got != want {
			t.Errorf("for %.20q, arm status names 'arm questions': %t, want %t", text, got, want)
		}
	}
}
