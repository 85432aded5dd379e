package rules

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/pty"
)

// A server can answer with a message of many rows, such as a page of HTML. The whole error is on the screen here, and
// more than 20 rows of it are below its first row. The screens are real ones with 120 columns. The versions are Claude
// Code 2.1.329, Codex 0.169.0, Gemini CLI 0.61.0, Aider 0.86.2, Copilot CLI 1.0.102, Qwen Code 0.24.4, Cline 3.0.65 and
// Continue 1.5.47.
func TestAnErrorMayHaveManyRows(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("─", 120) + "\n"
	for name, agent := range map[string]struct {
		// first is the first row of the error. Each further row begins with indent.
		first, indent string
		// `answer` is a later prompt with its answer. `below` is the composer with the rows below it.
		answer, below string
	}{
		"claude-code": {"● API Error: 400 ", "  ", "\n❯ go on\n\n● I go on.\n\n✻ Worked for 1s · done 11:59 PM\n",
			"\n" + line + "❯ \n" + line + "  ⏸ manual mode on · ? for shortcuts · ← for agents\n"},
		"codex": {"■ {\"error\":{\"code\":\"400\",\"message\":\"", "",
			"\n\n› go on\n\n\n• I go on.\n\n  Worked for <1s • 00:03\n",
			"\n\n› Ask Codex to do anything\n\n  mock-model default · /home/dev/w\n  ← for agents · ? for shortcuts\n"},
		"gemini": {"✕ [API Error: 400 ", "  ", geminiBox(" > go on") + "✦ I go on.\n",
			"\n\n" + line + " Shift+Tab to accept edits\n" + geminiBox(" >   Type your message or @path/to/file") +
				" workspace (/directory)\n /home/dev/w\n"},
		"aider": {"litellm.BadRequestError: OpenAIException - ", "",
			"\n" + line + "diff> go on\n\nTo go on.\n\n\nTokens: 2.4k sent, 1 received. Cost: $0.0024 message.\n",
			"\n" + line + "diff> "},
		"copilot": {" ✗ 400 ", "   ", "\n ❯ go on\n\n ● I go on.\n",
			"\n /home/dev/w\n" + line + "❯\n" + line + " ← open sidebar · Interactive · Manual Approval · / commands\n"},
		"qwen": {"  ✕ [API Error: 400 ", "    ", "\n  > go on\n\n  ◆\ufe0e I go on.\n",
			"\n" + line + ">   Type your message or @path/to/file\n" + line + "  ➜ w · mock-model\n  ⏸ Ask permissions\n"},
		"cline": {" *Error: ", "  ", "\n ❯ go on\n\n * I go on.\n",
			"\n\n" + line + "❯ Ask anything...\n" + line + " mock-model (5,438) $0.00     ○ Plan ● Act (Tab)\n w\n" +
				" Auto-approve all disabled (Shift+Tab)\n"},
		"continue": {"Error: 400 ", "", "\n● go on\n\n● I go on.\n",
			"\n╭" + strings.Repeat("─", 118) + "╮\n│ ● ▋Ask anything, @ for context, / for slash commands, ! for shell mode" +
				strings.Repeat(" ", 47) + "│\n╰" + strings.Repeat("─", 118) + "╯\n  /home/dev/w  • Context: 1%\n"},
	} {
		failed := agent.first + "<html>\n" + agent.indent + "<head><title>400 ● Bad * Request</title></head>\n" +
			strings.Repeat(agent.indent+"Too many fields.\n", 20) + agent.indent + "</html>\n"
		for picture, want := range map[string]coleo.State{
			failed + agent.below:                               coleo.Failed,
			failed + agent.answer + agent.below:                coleo.Idle,
			failed + agent.answer + failed + agent.below:       coleo.Failed,
			agent.answer + agent.below:                         coleo.Idle,
			strings.TrimLeft(agent.answer, "\n") + agent.below: coleo.Idle,
		} {
			if got := readAs(t, name, stillOf(t, picture)); got.State != want {
				t.Errorf("%s: read %s (rule %q), want %s:\n%s", name, got.State, got.Rule, want, picture)
			}
		}
	}
}

// stillOf returns a screen of 120 columns. The cursor is on its last row that begins like a composer.
func stillOf(t *testing.T, picture string) coleo.Screen {
	t.Helper()
	screen, ok := pty.ReadStill([]byte(picture))
	if !ok {
		t.Fatalf("the picture is none:\n%s", picture)
	}
	screen.Cols, screen.CursorVisible, screen.Modes = 120, true, map[string]bool{"bracketed_paste": true}
	for y, row := range screen.Lines {
		if strings.HasPrefix(row, "diff>") || strings.HasPrefix(row, "›") {
			screen.Cursor = [2]int{len([]rune(strings.SplitAfter(row, " ")[0])), y}
		}
	}
	return screen
}
