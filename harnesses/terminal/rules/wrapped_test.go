package rules

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/pty"
)

// These are real dialogs in terminals of 60 columns. A text that the terminal has wrapped must be
// read as one text.
func TestWhatANarrowTerminalWrapsIsOneText(t *testing.T) {
	t.Parallel()
	rule := strings.Repeat("─", 60)
	for name, c := range map[string]struct {
		harness, picture string
		title, subject   string
		options          []string
	}{
		"a file's name that is longer than a row": {"claude-code",
			rule + "\n Create file\n a-file\n" + strings.Repeat("╌", 60) + "\n  1 some words\n" +
				strings.Repeat("╌", 60) +
				"\n Do you want to create a-file-with-quite-a-long-name-xxxxxx\n " +
				"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.txt?\n ❯ 1. Yes\n" +
				"   2. Yes, and switch to accept edits (auto-approve file\n      edits and common file commands) for " +
				"this session\n      (shift+tab)\n   3. No\n\n Esc to cancel · Tab to amend\n",
			"Do you want to create " +
				"a-file-with-quite-a-long-name-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.txt?",
			"Create file\na-file\n1 some words",
			[]string{"Yes",
				"Yes, and switch to accept edits (auto-approve file edits and common file commands) for this session " +
					"(shift+tab)", "No"}},
		"a question without a question mark, and what its options mean": {"claude-code",
			rule + "\n ☐ Question\n\n│ Which of the many sides that there are should be taken by\n│ us now that both " +
				"have been looked at\n\n" +
				"❯ 1. The left side because it is much nicer than the others\n     and takes less time\n     the one " +
				"with the tree\n  2. Neither\n     stay here\n" + rule +
				"\n  3. Chat about this\n\nEnter to select · ↑/↓ to navigate · Esc to cancel\n",
			"Which of the many sides that there are should be taken by us now that both have been looked at",
			"Question",
			[]string{"The left side because it is much nicer than the others and takes less time", "Neither",
				"Chat about this"}},
		"a command that is broken at a hyphen": {"codex",
			"  Would you like to run the following command?\n\n  $ echo a\n\n\n› 1. Yes, proceed (y)\n  2. Yes, " +
				"and don't ask again for commands that start with\n" +
				"     `cd sub; for i in 1 2 3; do echo $i | tee -a some-long-\n     file-name-$i.txt` (p)\n  3. No, " +
				"and tell Codex what to do differently (esc)\n\n  Press enter to confirm or esc to cancel\n",
			"Would you like to run the following command?", "$ echo a",
			[]string{"Yes, proceed (y)",
				"Yes, and don't ask again for commands that start with `cd sub; for i in 1 2 3; " +
					"do echo $i | tee -a some-long-file-name-$i.txt` (p)",
				"No, and tell Codex what to do differently (esc)"}},
		"a line that the terminal itself wraps": {"aider",
			strings.Repeat("x", 59) +
				"\n\na-file.txt\nAllow edits to file that has not been added to the chat? (Y)\nes/(N)o/(D)on't ask " +
				"again [No]: ",
			"Allow edits to file that has not been added to the chat?", "a-file.txt",
			[]string{"Yes", "No", "Don't ask again"}},
		"the same with wide characters": {"aider",
			"Add x" + strings.Repeat("漢", 19) + " to the chat? (Y)\nes/(N)o/(D)on't ask again [Yes]: ",
			"Add x" + strings.Repeat("漢", 19) + " to the chat?", "", []string{"Yes", "No", "Don't ask again"}},
	} {
		screen, ok := pty.ReadStill([]byte(c.picture))
		if !ok {
			t.Fatalf("%s: the picture is none", name)
		}
		screen.Cols = 60
		d := readAs(t, c.harness, screen).Dialog
		if d == nil {
			d = &coleo.Dialog{}
		}
		if d.Title != c.title || d.Subject != c.subject || !slices.Equal(d.Options, c.options) {
			t.Errorf("%s: read %q about %q with %q, want %q about %q with %q", name, d.Title, d.Subject, d.Options,
				c.title, c.subject, c.options)
		}
	}
}
