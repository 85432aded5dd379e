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
		// An error of Google's API has details about its cause.
		"Gemini CLI after a long error": {"gemini", geminiBox(" > fail 400") + "✕ [API Error: {\"error\":{\"code\":400,\n" +
			strings.Repeat("  \"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\n", 12) + "  \"status\":\"INVALID\"}}]\n" +
			gemini, coleo.Failed},
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

// In Claude Code, an error can have many rows in a narrow terminal. The first text is one of a real picture of 2.1.329,
// wrapped for 80 columns. The model can also write a text like an error, but then the row with the turn's duration
// follows.
func TestAnErrorOfClaudeCodeMayHaveManyRows(t *testing.T) {
	t.Parallel()
	wrapped := "❯ fail500\n\n● API Error: 500 mock internal error. This is a server-side issue, usually\n" +
		"  temporary — try again in a moment. If it persists, check your inference\n  gateway (127.0.0.1:36161).\n\n"
	box := func(row string) string {
		line := strings.Repeat("─", 80)
		return line + "\n" + row + "\n" + line + "\n  ⏸ manual mode on · ← for agents\n"
	}
	empty, over := box("❯ Resend your message to try again"), "✻ Worked for 1s · done 11:59 PM\n\n"+box("❯")
	for name, c := range map[string]struct {
		picture string
		want    coleo.State
	}{
		"an error of three rows": {wrapped + empty, coleo.Failed},
		"an error of one row":    {"❯ go on\n\n● API Error: 400 mock bad request\n\n" + empty, coleo.Failed},
		"an error of two rows, and a row of something else": {
			"● Please run /login · API Error: 401 token has\n  expired\n※ another row\n" + empty, coleo.Failed},
		"an answer below an error":    {wrapped + "❯ go on\n\n● I go on.\n\n" + over, coleo.Idle},
		"a new prompt below an error": {"● API Error: 400 x\n\n❯ go on\n\n" + box("❯"), coleo.Idle},
		"an answer that names an error": {
			"❯ what does the log say?\n\n● API Error: 429 rate limited\n\n" + over, coleo.Idle},
	} {
		screen, ok := pty.ReadStill([]byte(c.picture))
		if !ok {
			t.Fatalf("%s: the picture is none", name)
		}
		screen.Cols = 80
		if got := readAs(t, "claude-code", screen); got.State != c.want {
			t.Errorf("%s: read %s (rule %q), want %s", name, got.State, got.Rule, c.want)
		}
	}
}

// Codex 0.169.0 breaks an error that is longer than a row, and does not indent the next rows: a recording with 60
// columns shows "■ Conversation interrupted - use /feedback if something went" and below it "wrong". The errors here
// have the wordings of real ones.
func TestAnErrorOfCodexMayHaveManyRows(t *testing.T) {
	t.Parallel()
	const below = "\n\n› Ask Codex to do anything\n\n  mock-model default · /home/dev/w · Mock title\n  ? for shortcuts\n"
	const status = "■ unexpected status 401 Unauthorized: Missing bearer or basic authentication in\n" +
		"header, url: https://api.openai.com/v1/responses, cf-ray: 9bf4e0c65d5a1234-FRA,\n" +
		"request id: req_0123456789abcdef0123456789abcdef"
	const interrupted = "■ Conversation interrupted - use /feedback if something went wrong\n\n"
	for name, c := range map[string]struct {
		picture string
		want    coleo.State
	}{
		"an error of one row":    {"› fail\n\n■ exceeded retry limit, last status: 429 Too Many Requests", coleo.Failed},
		"an error of three rows": {"› fail\n\n" + status, coleo.Failed},
		"an error of six rows": {"› fail\n\n■ {\"error\":{\"message\":\"Unsupported value: 'xhigh' is not supported\n" +
			"with this model. Supported\nvalues are: 'low',\n'medium', and\n'high'.\",\n\"param\":\"reasoning.effort\"}}",
			coleo.Failed},
		"an answer below an error": {status + "\n\n› go on\n\n• I go on.", coleo.Idle},
		"an error below an interrupted turn": {
			interrupted + "› go on\n\n■ We’re currently experiencing high demand.", coleo.Failed},
		"an interrupted turn below an error": {status + "\n\n› go on\n\n" + interrupted, coleo.Idle},
		"raw output below an interrupted turn": {
			interrupted + "Say it.\n\nHere I am.\n\nWorked for 1s • 22:43\n\ngo on\n\nDone.\n\nWorked for <1s • 22:43\n",
			coleo.Idle},
		"raw output below an interrupted turn, without an end": {interrupted + "Say it.\n\nHere I am.\n", coleo.Idle},
		"raw output below an error": {
			status + "\n\ngo on\n\nDone.\n\nWorked for <1s • 22:43\n", coleo.Idle},
		"an interrupted turn of two rows": {
			"■ Conversation interrupted - use /feedback if something went\nwrong", coleo.Idle},
	} {
		screen, ok := pty.ReadStill([]byte(c.picture + below))
		if !ok {
			t.Fatalf("%s: the picture is none", name)
		}
		screen.Cols, screen.CursorVisible, screen.Title = 80, true, "Mock title | w"
		screen.Cursor = [2]int{2, len(screen.Lines) - 4}
		if got := readAs(t, "codex", screen); got.State != c.want {
			t.Errorf("%s: read %s (rule %q), want %s", name, got.State, got.Rule, c.want)
		}
	}
}

// A proxy in front of a model server answers with a page of HTML, and Aider shows the page as a part of the error.
func TestAnErrorOfAiderMayBeHTML(t *testing.T) {
	t.Parallel()
	const line = "\n────────────────────────────────────────\n"
	const page = "litellm.InternalServerError: InternalServerError: OpenAIException - <html>\n" +
		"<head><title>502 Bad Gateway</title></head>\n<body>\n<center><h1>502 Bad Gateway</h1></center>\n" +
		"<hr><center>nginx</center>\n</body>\n</html>\nThe API provider's servers are down or overloaded.\n"
	for name, c := range map[string]struct {
		picture string
		want    coleo.State
	}{
		"an error with a page":  {"diff> fail\n" + page, coleo.Failed},
		"a new prompt below it": {page + line + "diff> go on\n", coleo.Idle},
		"an answer below it":    {page + line + "> go on\nx = 3 > 2\nTokens: 2.3k sent, 1 received.\n", coleo.Idle},
		"an answer after a retry": {
			page + "Retrying in 0.2 seconds...\nIt is <b>fine</b>.\nTokens: 2.3k sent, 1 received.\n", coleo.Idle},
		"an error without a page": {
			"> fail\nlitellm.BadRequestError: OpenAIException - scripted failure 400\n", coleo.Failed},
	} {
		screen, ok := pty.ReadStill([]byte(c.picture + line + "diff> \n"))
		if !ok {
			t.Fatalf("%s: the picture is none", name)
		}
		screen.Cols, screen.CursorVisible, screen.Modes = 80, true, map[string]bool{"bracketed_paste": true}
		for y, row := range screen.Lines {
			if row != "" {
				screen.Cursor = [2]int{len(row), y}
			}
		}
		if got := readAs(t, "aider", screen); got.State != c.want {
			t.Errorf("%s: read %s (rule %q), want %s", name, got.State, got.Rule, c.want)
		}
	}
}
