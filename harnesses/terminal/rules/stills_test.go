package rules

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/pty"
)

// These are real pictures that earlier rules read wrongly.
func TestPicturesThatWereMisreadOnce(t *testing.T) {
	t.Parallel()
	half := strings.Repeat("▄", 80) + "\n >   Type your message or @path/to/file\n" + strings.Repeat("▀", 80)
	for name, c := range map[string]struct {
		harness, picture string
		want             coleo.State
	}{
		"Gemini CLI keeps a prompt until it is ready": {"gemini",
			"  Queued (press ↑ to edit):\n    say something\n\n" + strings.Repeat(" ", 60) + "? for shortcuts\n" +
				strings.Repeat("─", 80) + "\n Shift+Tab to accept edits\n" + half + "\n workspace (/directory)\n",
			coleo.Processing},
		"and is idle without one": {"gemini",
			"✦ something\n\n" + strings.Repeat(" ", 60) + "? for shortcuts\n" + strings.Repeat("─", 80) +
				"\n Shift+Tab to accept edits\n" + half + "\n workspace (/directory)\n",
			coleo.Idle},
		"OpenCode's footer wraps in columns": {"opencode",
			"  ┃\n  ┃  Build · mock-1 Endpoint\n  ╹" + strings.Repeat("▀", 60) +
				"\n   ~/a-long-folder     8.1K (6%) · $0.02ctrl+p\n   name                                commands\n",
			coleo.Idle},
		"also while it works": {"opencode",
			"  ┃\n  ┃  Build · mock-1 Endpoint\n  ╹" + strings.Repeat("▀", 60) +
				"\n   ■⬝⬝⬝⬝⬝⬝⬝  esc       8.1K (6%) · $0.02ctrl+p\n             interrupt                 commands\n",
			coleo.Processing},
		"half a repaint of OpenCode is no dialog": {"opencode",
			"  ┃\n  ┃\n  ┃\n  ┃  Build · mock-1\n  ╹" + strings.Repeat("▀", 60) +
				"\n   ■⬝⬝⬝⬝⬝⬝⬝  esc interrupt     ctrl+p commands\n",
			coleo.Processing},
		"OpenCode's model may write what the title of a menu looks like": {"opencode",
			"  ┃  say it\n\n            x" + strings.Repeat(" ", 20) + "esc\n\n     ▣  Build · mock-1 · 1.2s\n\n" +
				"  ┃\n  ┃\n  ┃\n  ┃  Build · mock-1\n  ╹" + strings.Repeat("▀", 60) + "\n   /w      ctrl+p commands\n",
			coleo.Idle},
		"OpenCode's folder is drawn over its composer's edge at 40x15": {"opencode",
			"  ┃\n  ┃  Ask anything… \"What is the\n  ┃  tech stack of this project?\"\n  ┃\n  ┃  Build · mock-1 " +
				"Coleo endpoint\n" +
				"  /tmp/a-long-fold▀▀▀▀▀▀▀▀▀▀▀▀▀1.18.33\n  4121385570/b agents  ctrl+p commands\n  work:master\n",
			coleo.Idle},
		"and what it asks there has keys above their words": {"opencode",
			"  ┃\n  ┃  Which side?\n  ┃\n  ┃  1. Left\n  ┃     choose Left\n  ┃  2. Right\n  ┃     choose Right\n  ┃ " +
				" 3. Type your own answer\n  ┃\n" +
				"  ┃  ↑↓       enter       esc\n  ┃  select   submit      dismiss\n  ┃\n",
			coleo.WaitingApproval},
		"Gemini CLI stays in its shell mode": {"gemini",
			strings.Repeat(" ", 60) + "? for shortcuts\n" + strings.Repeat("─", 80) +
				"\n  shell mode enabled (esc to disable)\n" + strings.Repeat("▄", 80) + "\n !   Type your shell command\n" +
				strings.Repeat("▀", 80) + "\n workspace (/directory)\n",
			coleo.Idle},
		"also while a command runs": {"gemini",
			"│ ⊶  Shell Command sleep 40\n│\n╰" + strings.Repeat("─", 79) + "\n ⠏ Thinking... (esc to cancel, 2s)\n" +
				strings.Repeat("─", 80) + "\n  shell mode enabled (esc to disable)\n" + strings.Repeat("▄", 80) +
				"\n !   Type your shell command\n" + strings.Repeat("▀", 80) + "\n workspace (/directory)\n",
			coleo.Executing},
		"Claude Code puts a stopped command into its composer again": {"claude-code",
			strings.Repeat("─", 80) + "\n! touch a; sleep 40\n" + strings.Repeat("─", 80) + "\n  ! for shell mode\n",
			coleo.Idle},
		"Qwen Code's picture for a wider terminal is no list": {"qwen",
			"│\n\n│\n  ◆︎ noncee146ee1cc0\n█\n\n█\n  > count to 40 every 50ms\n█\n\n" +
				"  ⠙ Pre-heating the servers... (0s · esc to cancel)\n" + strings.Repeat("─", 80) + "\n" + strings.Repeat("─", 40) +
				"\n>   Type your message or @path/to/file\n" + strings.Repeat("─", 80) + "\n" + strings.Repeat("─", 40) +
				"\n  ➜ work · git:(master) · mock-1\n" +
				"  Enter to steer · Ctrl+Q to queue · ⏸ Ask permissions (shift + tab to cycle)\n",
			""},
		"Copilot CLI is in its shell mode": {"copilot",
			strings.Repeat("─", 80) + "\n! Execute shell command\n" + strings.Repeat("─", 80) +
				"\n ← open sidebar · Shell · Manual Approval · / commands · esc exit shell mode   mock-1\n",
			coleo.Idle},
	} {
		screen, ok := pty.ReadStill([]byte(c.picture))
		if !ok {
			t.Fatalf("%s: the picture is none", name)
		}
		r := readAs(t, c.harness, screen)
		if r.State != c.want || c.want == coleo.WaitingApproval &&
			(r.Dialog.Kind != coleo.DialogQuestion || len(r.Dialog.Options) != 3) {
			t.Errorf("%s: read %s by rule %q, dialog %+v, want %s", name, r.State, r.Rule, r.Dialog, c.want)
		}
	}
}
