package workspace

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"coleo.dev/workspace"
	"coleo.dev/workspace/merge"
)

// TestM28ARefIsPrintedAsOneWordForAShell: an arm can create a ref whose name contains ";", which
// ends a shell command. A command that Coleo prints must contain the name as one quoted word.
func TestM28ARefIsPrintedAsOneWordForAShell(t *testing.T) {
	t.Parallel()
	const ref = "refs/coleo/kept/fix/20260101T000000Z-2;id"
	done := workspace.Removal{With: []workspace.Removal{{Workspace: workspace.Workspace{Path: "/trees/lib"}, Kept: ref}}}
	if text := removedText("fix", done); !strings.Contains(text, "coleo workspace restore '"+ref+"'") {
		t.Errorf("the removal says %s", text)
	}
}

// TestATerminalObeysNothingThatAnArmHasNamed: an arm chooses the names of its branches, refs and
// files. Where a command prints such a name, it must escape all characters that a terminal obeys.
func TestATerminalObeysNothingThatAnArmHasNamed(t *testing.T) {
	t.Parallel()
	const name = "x\x1b]0;title\ay\u202e"
	w := workspace.Workspace{Name: "fix", Branch: name, Path: "/trees/fix"}
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&out)
	for what, print := range map[string]func() error{
		"list": func() error { return printList(c, []listedWorkspace{{Workspace: w, Error: name}}) },
		"kept": func() error { return printKept(c, []workspace.Kept{{Ref: "refs/coleo/kept/" + name, Name: name}}) },
		"prune": func() error {
			out.WriteString(prunedLines([]workspace.Pruned{{Workspace: w, Left: name}}, []merge.Recovered{{Left: name}}))
			return nil
		},
		"remove": func() error {
			out.WriteString(removedText("fix", workspace.Removal{Workspace: w, Stays: name}))
			return nil
		},
	} {
		out.Reset()
		if err := print(); err != nil || strings.ContainsAny(out.String(), "\x1b\a\u202e") ||
			!strings.Contains(out.String(), `x\x1b]0;title\x07y\u202e`) {
			t.Errorf("%s prints %q, %v", what, out.String(), err)
		}
	}
}
