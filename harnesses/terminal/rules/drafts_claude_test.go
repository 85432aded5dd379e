package rules

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

// When Claude Code 2.1.329 asks whether it may edit a notebook, it draws the buttons before the edit. The
// picture without the edit must count as a draft, an incomplete dialog.
func TestClaudeCodesDraftOfANotebook(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../claudecode/harness.toml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ParseSpec("harness.toml", raw)
	if err != nil {
		t.Fatal(err)
	}
	for above, draft := range map[string]bool{
		" Edit notebook": true,
		" Edit notebook\n /work/a.ipynb\n Replace cell contents for cell one\n 1 -old\n 1 +new": false,
	} {
		text := "● Edit Notebook(a.ipynb@one)\n\n" + strings.Repeat("─", 60) + "\n" + above +
			"\n Do you want to make this edit to a.ipynb?\n ❯ 1. Yes\n   2. Yes, and switch to accept edits\n   3. No\n\n" +
			" Esc to cancel · Tab to amend"
		rows := strings.Split(text, "\n")
		v := spec.Read(NewPicture(coleo.Screen{Cols: 60, Rows: len(rows), Lines: rows}, &spec.Composer))
		if v.Dialog == nil || v.Rule != "permission" || v.Draft != draft {
			t.Errorf("%q: dialog %+v by rule %q, draft: %t; want %t", above, v.Dialog, v.Rule, v.Draft, draft)
		}
	}
}
