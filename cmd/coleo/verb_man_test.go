package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEachVerbHasAManualPage checks that each page contains the text of the verb's help.
func TestEachVerbHasAManualPage(t *testing.T) {
	t.Parallel()
	w := newFolder(t, "")
	t.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	w.must("man", w.path("man"))
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		page, err := os.ReadFile(filepath.Join(w.path("man"), strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil || !strings.Contains(string(page), strings.SplitN(c.Short, "'", 2)[0]) {
			t.Errorf("%s: %v; want a page that says %q", c.CommandPath(), err, c.Short)
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(newRootCommand())
}
