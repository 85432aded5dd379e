package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/armtools"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/verb"
)

// newMCPCommand returns the verb mcp with the verb below it.
func newMCPCommand() *cobra.Command {
	c := verb.Group("mcp", "Serve Coleo's tools to agent CLIs")
	c.AddCommand(newMCPServeCommand())
	return c
}

func newMCPServeCommand() *cobra.Command {
	var config armtools.Config
	var tools string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve Coleo's tools to the agent CLI of an arm, over standard input and output",
		Long: `Serve Coleo's tools to the agent CLI of an arm, by MCP over standard input and
output. The agent CLI starts this program itself. It ends with its input.

Each call goes to the arm's door, a socket in the arm's folder. While the host
agent does not run, a call waits until it runs again.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if config.Door == "" {
				return coleo.Errorf(coleo.EInvalid, "name the arm's door: --door PATH")
			}
			config.Version = executable.Version
			if config.Tools = coleo.ArmTools(); tools != "" {
				config.Tools = strings.Split(tools, ",")
			}
			return armtools.Run(c.Context(), os.Stdin, os.Stdout, config)
		},
	}
	c.Flags().StringVar(&config.Door, "door", "", "`PATH` of the arm's door")
	c.Flags().StringVar(&tools, "tools", "", "`NAMES` of the tools to serve, with commas (default: all)")
	c.Flags().DurationVar(&config.Longest, "longest", time.Duration(0), "maximum `TIME` of one call; 0 means no limit")
	return c
}
