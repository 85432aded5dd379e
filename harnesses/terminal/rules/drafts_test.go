package rules

import (
	"strings"
	"testing"

	"coleo.dev/pty"
)

// According to its source, OpenCode 1.18.33 shows these dialogs before it knows their subject. They must count
// as drafts, and complete dialogs must not.
func TestOpenCodesDraftsOfPermissions(t *testing.T) {
	t.Parallel()
	spec := builtinSpec(t, "opencode-1.18.33")
	asks := func(rows ...string) string {
		return "  ┃\n  ┃  △ Permission required\n  ┃    " + strings.Join(rows, "\n  ┃    ") +
			"\n  ┃\n  ┃\n  ┃   Allow once   Allow always   Reject        ctrl+f fullscreen  ⇆ select  enter " +
			"confirm\n  ┃\n"
	}
	for _, tt := range []struct {
		rows  []string
		draft bool
	}{
		{[]string{"# Shell command", ""}, true},
		{[]string{"# Unknown Task", ""}, true},
		{[]string{"→ Read", ""}, true},
		{[]string{"→ List", ""}, true},
		{[]string{"✱ Glob \"\"", ""}, true},
		{[]string{"✱ Grep \"\"", ""}, true},
		{[]string{"% WebFetch", ""}, true},
		{[]string{"◈ Exa Web Search \"\"", ""}, true},
		{[]string{"# Shell command", "", "$ make"}, false},
		{[]string{"# Shell command", "", "$ make", "# and so on"}, false},
		{[]string{"# General Task", "", "◉ look"}, false},
		{[]string{"→ Read a.txt", "", "Path: a.txt"}, false},
		{[]string{"→ Edit a.txt", "", "1 + # Words"}, false},
		{[]string{"✱ Glob \"*.go\"", "", "Pattern: *.go"}, false},
		{[]string{"% WebFetch http://127.0.0.1/", "", "URL: http://127.0.0.1/"}, false},
		{[]string{"← Access external directory /d", "", "Patterns", "", "- /d/*"}, false},
		{[]string{"⟳ Continue after repeated failures", "",
			"This keeps the session running despite repeated failures."}, false},
		{[]string{"⚙ Call tool probe_echo", "", "Tool: probe_echo"}, false},
	} {
		screen, ok := pty.ReadStill([]byte(asks(tt.rows...)))
		if !ok {
			t.Fatal("the picture is none")
		}
		v := spec.Read(NewPicture(screen, &spec.Composer))
		if v.Dialog == nil || v.Rule != "permission" || v.Draft != tt.draft {
			t.Errorf("%q: dialog %+v by rule %q, draft: %t; want %t", tt.rows, v.Dialog, v.Rule, v.Draft, tt.draft)
		}
	}
}
