package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/paths"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages of all verbs into a folder",
		Long: `Write the manual pages of all verbs into a folder. They contain the same texts
as --help.

The folder is created if it is missing. Pages of the same names are replaced.`,
		Example: `  coleo man ~/.local/share/man/man1    # man searches this folder
  man coleo-arm-spawn`,
		Args: verb.Exactly(1, "the folder to write into"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return coleo.Errorf(coleo.EInvalid, "nothing was written: %v", err)
			}
			root := c.Root()
			root.DisableAutoGenTag = true // the footer of each page already names the source
			header := doc.GenManHeader{Section: "1", Source: "Coleo " + executable.Version, Manual: "Coleo"}
			if err := doc.GenManTree(root, &header, args[0]); err != nil {
				return coleo.Errorf(coleo.EInternal, "write the manual pages: %v", err)
			}
			pages, err := filepath.Glob(filepath.Join(paths.Quote(args[0]), "coleo*.1"))
			if err != nil {
				return err
			}
			return verb.Say(c, fmt.Sprintf("%d pages in %s", len(pages), args[0]),
				map[string]any{"folder": args[0], "pages": len(pages)})
		},
	}
}
