package rules

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/pty"
)

// A prompt can come before Gemini CLI 0.61.0 is ready. Gemini CLI then keeps the prompt in a list on the
// screen. On a loaded machine, this list disappears a second or more before the prompt is in the transcript.
// In this time, Gemini CLI must not count as idle. The first picture below is from such a moment.
func TestGeminiIsNotIdleWhileItKeepsAPrompt(t *testing.T) {
	t.Parallel()
	spec := builtinSpec(t, "gemini-0.61.0")
	edge := func(of string) string { return strings.Repeat(of, 100) + "\n" }
	shows := func(transcript string) string {
		return "\n" + transcript + "\n\n" + strings.Repeat(" ", 85) + "? for shortcuts\n" + edge("─") +
			" Shift+Tab to accept edits\n" + edge("▄") + " >   Type your message or @path/to/file\n" + edge("▀") +
			" workspace (/directory)                       sandbox             /model\n" +
			" /tmp/work                                    no sandbox          mock-1\n"
	}
	asked := edge("▄") + " > say hello\n" + edge("▀")
	for _, tt := range []struct {
		name, transcript string
		want             coleo.State
	}{
		{"it starts", "ℹ Initializing... Prompts will be queued.\n", coleo.Processing},
		{"its MCP servers start",
			"ℹ Waiting for MCP servers to initialize... Slash commands are still available and\n" +
				"  prompts will be queued.\n", coleo.Processing},
		{"the prompt is in the transcript", "ℹ Initializing... Prompts will be queued.\n" + asked, coleo.Idle},
		{"the prompt is answered", "ℹ Initializing... Prompts will be queued.\n" + asked + "✦ hello\n", coleo.Idle},
		{"another message", "ℹ Initializing... Prompts will be queued.\nℹ Request cancelled.\n", coleo.Idle},
		{"the model says so", asked + "✦ It said Initializing... Prompts will be queued.\n", coleo.Idle},
		{"nothing yet", "", coleo.Idle},
	} {
		screen, ok := pty.ReadStill([]byte(shows(tt.transcript)))
		if !ok {
			t.Fatal("the picture is none")
		}
		if v := spec.Read(NewPicture(screen, &spec.Composer)); v.State != tt.want {
			t.Errorf("%s: %s by rule %q, want %s", tt.name, v.State, v.Rule, tt.want)
		}
	}
}
