package rules

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/pty"
)

// The screen is one of OpenCode 1.18.33 at 200x60, also with words of double-width characters. The
// composer must not contain the sidebar.
func TestASidebarIsNotRead(t *testing.T) {
	t.Parallel()
	row := func(left, right string) string {
		return left + strings.Repeat(" ", 100-len([]rune(left))-strings.Count(left, "漢")) + right + "\n"
	}
	bottom := row("  ╹"+strings.Repeat("▀", 90), "") +
		row("   ~/work                       8.1K (6%) · $0.02  ctrl+p commands", "• OpenCode 1.18.33")
	box := row("  ┃", "Context") + row("  ┃  漢漢 some words", "8,094 tokens") + row("  ┃", "~/work") +
		row("  ┃  Build · mock-1", "keep/main")
	screen, ok := pty.ReadStill([]byte(box + bottom))
	if r := readAs(t, "opencode", screen); !ok || r.State != coleo.Idle {
		t.Errorf("read %s by rule %q, want idle, for\n%s", r.State, r.Rule, strings.Join(screen.Lines, "\n"))
	}
	asks := row("  ┃", "Context") + row("  ┃  △ Permission required", "8,094 tokens") +
		row("  ┃    → Edit 漢.txt", "~/work") +
		row("  ┃", "") + row("  ┃  1 + some words", "LSP") + row("  ┃", "keep/main") +
		row("  ┃   Allow once   Allow always   Reject", "") + row("  ┃", "• OpenCode 1.18.33")
	screen, ok = pty.ReadStill([]byte(asks))
	r := readAs(t, "opencode", screen)
	if !ok || r.Dialog == nil || r.Dialog.Subject != "→ Edit 漢.txt\n1 + some words" {
		t.Errorf("read %+v by rule %q, want the dialog without the sidebar, for\n%s", r.Dialog, r.Rule,
			strings.Join(screen.Lines, "\n"))
	}
}
