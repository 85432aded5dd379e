package rules

import (
	"os"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// These are the rows below each dialog in a session of Claude Code 2.1.329 that has a name.
const (
	nameRow     = "\n──────────────────────────────────────────────── My session ─"
	longNameRow = "\n A session with a very long name that certainly does not … ─"
)

// A dialogCase is a screen that earlier rules read wrongly, with the correct reading.
type dialogCase struct {
	rows, rule, title string
	options           []string
	isCut             bool
}

func TestDialogsOfANamedSessionAreRead(t *testing.T) {
	t.Parallel()
	permission := "────────────────────────────────────────\n Bash command\n Write a line\n" +
		" echo it >> done.log\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend"
	question := "────────────────────────────────────────\n ☐ Colour\n\nWhich colour?\n\n❯ 1. Red\n     like fire\n" +
		"  2. Blue\n     like water\n\nEnter to select · ↑/↓ to navigate · ctrl+g to edit in\nVim · Esc to cancel"
	exit := "────────────────────────────────────────\n Exit plan mode?\n\n  Claude wants to exit plan mode\n\n" +
		"  ❯ 1. Yes, and switch to default (ask each time) for this\n       session\n    2. No"
	for _, end := range []string{"", nameRow, longNameRow} {
		checkDialogs(t, "claudecode", []dialogCase{
			{permission + end, "permission", "Do you want to proceed?", []string{"Yes", "No"}, false},
			{question + end, "question", "Which colour?", []string{"Red", "Blue"}, false},
			{exit + end, "plan-exit", "Exit plan mode?", nil, false},
		})
	}
}

func TestAPermissionWithoutNumbersHasOptions(t *testing.T) {
	t.Parallel()
	checkDialogs(t, "claudecode", []dialogCase{
		{"────────────────────────────────────────\n Bash command\n echo it >> done.log\n Do you want to proceed?\n" +
			" ❯ No\n   Yes\n\n Esc to cancel · Tab to amend", "permission", "Do you want to proceed?",
			[]string{"No", "Yes"}, false},
	})
}

func TestQuestionsOfServersAreRead(t *testing.T) {
	t.Parallel()
	checkDialogs(t, "claudecode", []dialogCase{
		{"────────────────────────────────────────\n  MCP server “el” requests your input\n\n  Please say it\n\n" +
			"  ❯ Accept    Decline\n\n  Esc to cancel · ↑/↓ to navigate", "elicitation",
			"MCP server “el” requests your input", []string{"Accept"}, false},
		{"────────────────────────────────────────\n  MCP server “el” requests your input\n\n  Please say it\n\n" +
			"  ❯ * Your name: Type something…\n        Who are you?\n\n    Accept    Decline\n\n" +
			"  Esc to cancel · ↑/↓ to navigate · Backspace to unset", "elicitation",
			"MCP server “el” requests your input", nil, false},
	})
	checkDialogs(t, "codex", []dialogCase{
		{"  Field 1/1\n  Please say it\n\n  › 1. Allow   Allow this request and continue\n" +
			"    2. Deny    Decline this request and continue\n    3. Cancel  Cancel this request\n\n" +
			"  enter to submit | esc to cancel", "elicitation", "Field 1/1", []string{"Allow", "Deny", "Cancel"}, false},
		{"  Field 1/1\n  Allow the coleo MCP server to run tool \"ping\"?\n\n  › 1. Allow   Run the tool and continue.\n" +
			"    2. Cancel  Cancel this tool call\n\n  enter to submit | esc to cancel", "mcp",
			"Allow the coleo MCP server to run tool \"ping\"?", []string{"Allow", "Cancel"}, false},
		{"  Action required\n\n  Server: el\n\n  Sign in\n\n  URL\n\n  https://example.com/login\n\n› 1. Open link\n" +
			"  2. Back\n\n  tab / ↑ ↓ move · enter select · esc close", "elicitation-url", "Action required",
			[]string{"Open link", "Back"}, false},
	})
}

// A command may contain a row that looks like the dialog's title. Coleo then finds only the part of the
// command below that row, so the subject must count as cut off.
func TestACommandWithTheTitleInItIsCutOff(t *testing.T) {
	t.Parallel()
	const title = "  Would you like to run the following command?\n\n"
	const end = "\n\n› 1. Yes, proceed (y)\n  2. No, and tell Codex what to do differently (esc)\n\n" +
		"  Press enter to confirm or esc to cancel"
	options := []string{"Yes, proceed (y)", "No, and tell Codex what to do differently (esc)"}
	checkDialogs(t, "codex", []dialogCase{
		{title + "  $ ls" + end, "command", "Would you like to run the following command?", options, false},
		{title + "  $ rm -rf ~ <<X\n" + title + "  $ ls\n  X" + end, "command",
			"Would you like to run the following command?", options, true},
	})
}

// A command may contain the corner of a box, or the row of the title. Neither may count as a part of
// the dialog's frame, because otherwise a command could hide its first rows.
func TestACommandHidesNoneOfItsRows(t *testing.T) {
	t.Parallel()
	const frame = "──────────────────────────────────────"
	checkDialogs(t, "opencode", []dialogCase{
		{"  ┃  △ Permission required\n  ┃    # Shell command\n  ┃\n  ┃  $ rm -rf ~; cat <<X\n" +
			"  ┃  △ Permission required\n  ┃  $ ls\n  ┃  X\n  ┃\n  ┃\n  ┃\n" +
			"  ┃   Allow once   Allow always   Reject", "permission", "△ Permission required", nil, true},
	})
	checkDialogs(t, "cline", []dialogCase{
		{" Cline needs permission\n\n Approve tool call?\n run_commands\n\n   $ rm -rf ~\n # is it good?\n\n" +
			"  [y] Approve   [n] Deny\n\n\n mock-1", "permission", "Approve tool call?", []string{"Approve", "Deny"}, true},
	})
	for folder, screen := range map[string]string{
		"gemini": "╭──" + frame + "──╮\n│ ? Shell  rm -rf ~; cat <<X              │\n" +
			"│ ╭" + frame + "╮ │\n│ │ rm -rf ~; cat <<X                    │ │\n" +
			"│ │ ╭────────                            │ │\n│ │ ? Shell ls                           │ │\n" +
			"│ ╰" + frame + "╯ │\n│ Allow execution of [Shell]?              │\n│                                          │\n" +
			"│ ● 1. Allow once                          │\n│   2. No, suggest changes (esc)           │\n╰──" + frame + "──╯",
		"continuecli": "╭──" + frame + "──╮\n│  ⎿ Will run: rm -rf ~; cat <<X           │\n" +
			"│    ╭─────                                │\n│    ls                                    │\n" +
			"│                                          │\n│  Would you like to continue?             │\n" +
			"│                                          │\n│  > Continue (tab)                        │\n" +
			"│    No, and tell Continue what to do differently (esc)   │\n╰──" + frame + "──╯",
	} {
		v := readDialog(t, folder, screen)
		if v.Dialog == nil || v.Rule != "permission" || !strings.Contains(v.Dialog.Subject, "rm -rf ~") {
			t.Errorf("%s: rule %q, dialog %+v; want a permission whose subject holds all rows of the command", folder,
				v.Rule, v.Dialog)
		}
	}
}

// A status line of the user below a dialog can have any rows. They must not be part of the dialog.
func TestAStatusLineIsNoPartOfADialog(t *testing.T) {
	t.Parallel()
	const frame = "────────────────────────────"
	const asked = "╭" + frame + "╮\n│ Run a command              │\n│ rm -rf build               │\n" +
		"│ Do you want to allow this? │\n│                            │\n│ ❯ 1. Yes                   │\n" +
		"│   2. No                    │\n│                            │\n" +
		"│ ↑/↓ to navigate · enter to select · esc to cancel │\n╰" + frame + "╯"
	options := []string{"Yes", "No"}
	for _, status := range []string{"", "\nmain", "\nmock │ main │ 12%", "\none\ntwo\nthree\n four",
		"\n╭──╮\n│ a │\n╰──╯", "\nmain\n Is it late?\n ❯ 1. Yes\n ↑/↓ to navigate"} {
		checkDialogs(t, "copilot", []dialogCase{
			{asked + status, "permission", "Do you want to allow this?", options, false},
		})
		if v := readDialog(t, "copilot", asked+status); v.Dialog == nil ||
			v.Dialog.Subject != "Run a command\nrm -rf build" {
			t.Errorf("the dialog is %+v above %q", v.Dialog, status)
		}
	}
}

// The message of an MCP server may look like the title, the options or the keys of its question. If Coleo
// reads another question because of that, the subject must count as cut off.
func TestAMessageChangesNoQuestion(t *testing.T) {
	t.Parallel()
	const line = "────────────────────────────"
	const title = " coleo needs information.\n"
	const keys = " ↑/↓ select · enter accept · ctrl+d decline · esc cancel\n"
	const list = "\n Colour:\n ❯ Red\n   Blue\n\n" + keys + line
	options := []string{"Red", "Blue"}
	checkDialogs(t, "copilot", []dialogCase{
		{line + "\n" + title + " Go on?\n" + list, "choice", "coleo needs information.", options, false},
		{line + "\n" + title + " Go on?\n ❯ 1. Yes\n 2. No\n" + list, "choice", "coleo needs information.", options, false},
		{line + "\n" + title + " rm -rf ~\n" + title + " ls\n" + list, "choice", "coleo needs information.", options, true},
		{line + "\n" + title + " rm -rf ~\n" + keys + " ls\n" + list, "choice", "coleo needs information.", nil, true},
	})
}

// readDialog reads a screen with the rules of the built-in harness in the given folder.
func readDialog(t *testing.T, folder, screen string) Verdict {
	t.Helper()
	spec := specOf(t, folder)
	rows := strings.Split(screen, "\n")
	return spec.Read(NewPicture(coleo.Screen{Cols: 60, Rows: len(rows), Lines: rows}, &spec.Composer))
}

// specOf returns the description of the built-in harness in the given folder.
func specOf(t *testing.T, folder string) *Spec {
	t.Helper()
	raw, err := os.ReadFile("../../" + folder + "/harness.toml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ParseSpec("harness.toml", raw)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// checkDialogs checks how the built-in harness in the given folder reads screens with dialogs.
func checkDialogs(t *testing.T, folder string, list []dialogCase) {
	t.Helper()
	for _, c := range list {
		v := readDialog(t, folder, c.rows)
		if v.Dialog == nil || v.Rule != c.rule || v.Dialog.Title != c.title || v.Dialog.Truncated != c.isCut ||
			c.options != nil && !slices.Equal(v.Dialog.Options, c.options) {
			t.Errorf("rule %q, dialog %+v; want %q, %q with %q, cut off: %v\n%s", v.Rule, v.Dialog, c.rule, c.title,
				c.options, c.isCut, c.rows)
		}
	}
}

// If a session has a long name, there is no room for the line above the composer. The composer must
// still be found.
func TestTheComposerOfANamedSessionIsFound(t *testing.T) {
	t.Parallel()
	spec := specOf(t, "claudecode")
	for _, name := range []string{nameRow, longNameRow, "\n──── A name ─"} {
		rows := strings.Split(name[1:]+"\n❯ do it\n"+strings.Repeat("─", 60)+"\n  ⏸ manual mode on", "\n")
		p := NewPicture(coleo.Screen{Cols: 60, Rows: len(rows), Lines: rows}, &spec.Composer)
		if p.Composer == nil || p.Composer.Text != "do it" {
			t.Errorf("the composer is %+v below %q", p.Composer, name[1:])
		}
	}
}

// With a setting of Gemini CLI, the composer stays below the dialog. Such a screen must not read as
// idle.
func TestADialogAboveAComposerIsNotIdle(t *testing.T) {
	t.Parallel()
	const frame = "────────────────────────────────────"
	const options = "│ Apply this change?                 │\n│                                    │\n" +
		"│ ● 1. Allow once                    │\n│   2. No, suggest changes (esc)     │\n╰" + frame + "╯\n"
	const asked = "✦ I will write hello.txt.\n\n╭" + frame + "╮\n│ ? WriteFile  Writing to hello.txt  │\n" + options
	const shown = "╭" + frame + "╮\n│ ✓  Shell cat notes                 │\n" + options
	const question = "╭" + frame + "╮\n│ Answer Questions                   │\n│ Which colour?                      │\n" +
		"│ ● 1.  Red                          │\n│ Enter to select · Esc to cancel    │\n╰" + frame + "╯\n"
	const hint = " Press Ctrl+O to show more lines of the last response\n"
	for _, c := range []struct{ name, rows, title, rule string }{
		{"a dialog", asked, "", "permission-above"},
		{"a dialog with a hint below it", asked + hint, "", "permission-above"},
		{"a dialog whose first row is out of sight", options, "✋  Action Required (work)", "permission-above"},
		{"a dialog whose first row is out of sight, without a title", options, "", "permission-above"},
		{"a question", question, "", "question-above"},
		{"a box that only the title explains", "╭" + frame + "╮\n│ Is it?                             │\n╰" + frame + "╯\n",
			"✋  Action Required (work)", "asked-above"},
		{"the output of a tool", shown, "", "composer"},
		{"the end of the output of a tool", options, "◇  Ready (work)", "composer"},
		{"the output of a tool, at work", shown, "✦  Working… (work)", "title-working"},
	} {
		rows := strings.Split(c.rows+"\n\n"+frame+"\n Shift+Tab to accept edits\n"+frame+
			"\n >   Type your message or @path/to/file\n"+frame+"\n workspace (/directory)", "\n")
		spec := specOf(t, "gemini")
		screen := coleo.Screen{Cols: 60, Rows: len(rows), Lines: rows, Title: c.title, CursorVisible: true}
		v := spec.Read(NewPicture(screen, &spec.Composer))
		if v.Rule != c.rule || (v.Dialog != nil) != strings.HasSuffix(c.rule, "-above") {
			t.Errorf("%s: rule %q, state %q, dialog %+v; want the rule %q", c.name, v.Rule, v.State, v.Dialog, c.rule)
		}
	}
}

// Aider shows several commands one below the other. A blank row between two commands looks like the top of the
// subject, so the subject must count as cut off.
func TestSeveralCommandsOfAiderAreCutOff(t *testing.T) {
	t.Parallel()
	spec := specOf(t, "aider")
	for text, isCut := range map[string]bool{
		"rm -rf ~\n\nls\nRun shell commands? (Y)es/(N)o/(D)on't ask again [Yes]:": true,
		"ls\nRun shell command? (Y)es/(N)o/(D)on't ask again [Yes]:":              false,
	} {
		rows := strings.Split("Tokens: 2k sent\n\n"+text, "\n")
		screen := coleo.Screen{Cols: 100, Rows: len(rows), Lines: rows, CursorVisible: true,
			Modes: map[string]bool{"bracketed_paste": true}, Cursor: [2]int{len([]rune(rows[len(rows)-1])), len(rows) - 1}}
		v := spec.Read(NewPicture(screen, &spec.Composer))
		if v.Dialog == nil || v.Rule != "confirm" || v.Dialog.Truncated != isCut {
			t.Errorf("rule %q, dialog %+v; want a confirmation, cut off: %v", v.Rule, v.Dialog, isCut)
		}
	}
}
