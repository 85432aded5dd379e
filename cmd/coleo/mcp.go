package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/armtools"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/operatortools"
	"coleo.dev/wholefile"
)

// newMCPCommand returns the verb "mcp", which contains the verb "mcp serve".
func newMCPCommand() *cobra.Command {
	c := verb.Group("mcp", "Serve Coleo's tools to agent CLIs")
	c.AddCommand(newMCPServeCommand())
	return c
}

func newMCPServeCommand() *cobra.Command {
	var config armtools.Config
	var tools, tokenFile string
	var operator bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve Coleo's tools to an agent CLI, over standard input and output",
		Long: `Serve Coleo's tools by MCP over standard input and output. The agent CLI starts
this program itself. The program ends when its input ends.

With --door, it serves the tools of an arm. Each call goes to the arm's door, a
socket in the arm's folder. While the host agent does not run, a call waits
until the host agent runs again.

With --operator, the tools command the arms, within the bounds of an operator
token: see 'coleo token create'. The token's value is in the variable
COLEO_TOKEN or in the file --token-file, which only you can read.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case operator && config.Door == "":
				return serveOperator(c.Context(), tokenFile)
			case operator:
				return coleo.Errorf(coleo.EInvalid, "--operator and --door contradict each other: give one of them")
			case config.Door == "":
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
	c.Flags().BoolVar(&operator, "operator", false, "serve the tools that command arms, with an operator token")
	c.Flags().StringVar(&tokenFile, "token-file", "", "`FILE` with the value of the operator token (default: COLEO_TOKEN)")
	return c
}

func serveOperator(ctx context.Context, tokenFile string) error {
	value, err := operatorToken(tokenFile)
	if err != nil {
		return err
	}
	s, err := setup.New()
	if err != nil {
		return err
	}
	client, err := s.OperatorClient(value)
	if err != nil {
		return err
	}
	defer client.Close()
	return operatortools.Run(ctx, os.Stdin, os.Stdout, client, executable.Version)
}

// operatorToken returns the value of the operator token. The token must not be in the command line,
// because every process on the machine can read it there.
func operatorToken(file string) (string, error) {
	if file == "" {
		if value := os.Getenv("COLEO_TOKEN"); value != "" {
			return value, nil
		}
		return "", coleo.Errorf(coleo.EInvalid, "give the value of an operator token: in COLEO_TOKEN or with --token-file "+
			"(a person makes one with 'coleo token create')")
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", coleo.Errorf(coleo.EInvalid, "read the token: %v", err)
	}
	if mode := info.Mode().Perm(); wholefile.OpenToOthers(mode) {
		return "", coleo.Errorf(coleo.EForbidden, "others can read the token file %s (mode %04o): run 'chmod 600 %s'", file,
			mode, file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", coleo.Errorf(coleo.EInvalid, "read the token: %v", err)
	}
	return strings.TrimSpace(string(raw)), nil
}
