package rules

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev/pty"
)

// The rows come from Claude Code 2.1.329. Color 153 shows where the cursor ❯ is. Color 114 shows the option
// that the user has chosen before, and the ✔ behind it. A ✔ in another color must stay part of the label.
func TestATickIsPartOfALabelUnlessItHasTheColourOfAChoice(t *testing.T) {
	t.Parallel()
	const marked, chosen, end = "\x1b[38;5;153m", "\x1b[38;5;114m", "\x1b[39m"
	const mark, none = marked + "❯" + end, " "
	for name, c := range map[string]struct {
		tab, first, second string
		want               []string
	}{
		"nothing is chosen": {"☐", mark + " 1. " + marked + "Apple ✔" + end, none + " 2. Pear ✔",
			[]string{"Apple ✔", "Pear ✔"}},
		"the marked option is chosen": {"☒", mark + " 1. " + chosen + "Apple ✔ ✔" + end, none + " 2. Pear ✔",
			[]string{"Apple ✔", "Pear ✔"}},
		"another option is chosen": {"☒", mark + " 1. " + marked + "Apple ✔" + end, none + " 2. " + chosen + "Pear ✔" + end,
			[]string{"Apple ✔", "Pear"}},
		"the label is of wide letters": {"☒", mark + " 1. " + marked + "苹果 ✔" + end, none + " 2. " + chosen + "梨 ✔" + end,
			[]string{"苹果 ✔", "梨"}},
		"no colours, and nothing is chosen": {"☐", "❯ 1. Apple ✔", "  2. Pear", []string{"Apple ✔", "Pear"}},
		"no colours, and one is chosen":     {"☒", "❯ 1. Apple", "  2. Pear ✔", []string{"Apple", "Pear"}},
	} {
		core := pty.New(80, 20)
		core.Feed([]byte(strings.ReplaceAll(strings.Repeat("─", 80)+
			"\n←  "+c.tab+" Fruit  ☐ Size  ✔ Submit  →\n\nWhich one?\n\n"+
			c.first+"\n     round\n"+c.second+"\n     long\n  3. Type something.\n"+strings.Repeat("─", 80)+
			"\n  4. Chat about this\n\nEnter to select · Tab/Arrow keys to navigate · Esc to cancel", "\n", "\r\n")))
		screen := core.View()
		spec := builtinSpec(t, "claude-code")
		p := NewPicture(screen, &spec.Composer)
		p.Use(core.Cell, Memo{})
		got := spec.Read(p).Dialog
		if want := append(c.want, "Type something.", "Chat about this"); got == nil || !slices.Equal(got.Options, want) {
			t.Errorf("%s: the dialog is %+v, want the options %q", name, got, want)
		}
	}
}
