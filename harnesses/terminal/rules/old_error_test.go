package rules

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/pty"
)

// geminiBox returns a box of Gemini CLI with the width of the terminal. The composer and each prompt in the
// transcript are such boxes.
func geminiBox(row string) string {
	return strings.Repeat("▄", 60) + "\n" + row + "\n" + strings.Repeat("▀", 60) + "\n"
}

const geminiError = "✕ [API Error: {\"error\":{\"code\":400,\"message\":\"scripted failure 400\"}}]\n\n\n" +
	"ℹ This request failed. Press F12 for diagnostics, or run\n  /settings and change \"Error Verbosity\"\n"

// An error above a newer prompt must not count for the present turn. The screens are real ones of Gemini CLI
// 0.61.0 and Qwen Code 0.24.4.
func TestAnErrorCountsOnlyForItsOwnTurn(t *testing.T) {
	t.Parallel()
	above := "\n\n" + strings.Repeat("─", 60) + "\n YOLO Ctrl+Y\n"
	gemini := above + geminiBox(" *   Type your message or @path/to/file") + " workspace (/directory)\n /tmp/work\n"
	line := strings.Repeat("─", 60) + "\n"
	qwen := "\n" + line + "*   Type your message or @path/to/file\n" + line + "  ➜ work · gpt-5\n  YOLO mode\n"
	for name, c := range map[string]struct {
		harness, picture string
		want             coleo.State
	}{
		"Gemini CLI after an error": {"gemini", geminiBox(" > fail 400") + geminiError + gemini, coleo.Failed},
		"Gemini CLI after a prompt below an error": {"gemini",
			geminiError + geminiBox(" > think of it\n   and of that") + gemini, coleo.Idle},
		"Gemini CLI after a cancelled turn below an error": {"gemini",
			geminiError + geminiBox(" > think of it") + "\nℹ Request cancelled.\n" + gemini, coleo.Idle},
		"Gemini CLI after a second error": {"gemini",
			geminiError + geminiBox(" > fail 400") + "✕ [API Error: terminated]\n" + gemini, coleo.Failed},
		"Gemini CLI after an answer": {"gemini", geminiError + geminiBox(" > go on") + "✦ I go on.\n" + gemini, coleo.Idle},
		"Qwen Code after an error": {"qwen",
			"  > fail 400\n  ✕ [API Error: 400 scripted failure 400] (Press Ctrl+Y to retry)\n" + qwen, coleo.Failed},
		"Qwen Code after a prompt below an error": {"qwen",
			"  ✕ [API Error: 400 scripted failure 400]\n\n  > think of it\n" + qwen, coleo.Idle},
		"Qwen Code after a second error": {"qwen",
			"  ✕ [API Error: 400 x]\n\n  > fail 400\n  ✕ [API Error: 400 y] (Press Ctrl+Y to retry)\n" + qwen, coleo.Failed},
		"Qwen Code after a prompt that was cancelled before it was shown": {"qwen",
			"  > fail 400\n  ✕ [API Error: 400 scripted failure 400]\n  ●\ufe0e Request cancelled.\n" + qwen, coleo.Idle},
		"Qwen Code after an answer": {"qwen",
			"  ✕ [API Error: 400 x]\n\n  > go on\n\n  ◆\ufe0e I go on.\n" + qwen, coleo.Idle},
	} {
		screen, ok := pty.ReadStill([]byte(c.picture))
		if !ok {
			t.Fatalf("%s: the picture is none", name)
		}
		screen.Cols, screen.CursorVisible = 60, true
		if got := readAs(t, c.harness, screen); got.State != c.want {
			t.Errorf("%s: read %s (rule %q), want %s", name, got.State, got.Rule, c.want)
		}
	}
}
