package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/verb"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]string{"version": executable.Version, "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH})
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "coleo %s %s %s/%s\n", executable.Version, runtime.Version(),
				runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
