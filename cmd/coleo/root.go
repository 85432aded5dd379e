package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"coleo.dev"
)

// exitCodes maps error codes to exit codes. docs/cli.md lists them for users. Any other
// failure exits with 1.
var exitCodes = map[coleo.Code]int{
	coleo.EInvalid:      2,
	coleo.EUnsupported:  2,
	coleo.ENotInstalled: 3,
	coleo.ENotFound:     4,
	coleo.EConflict:     5,
	coleo.EBlocked:      6,
	coleo.EPromptLost:   7,
	coleo.EUnavailable:  8,
	coleo.ETimeout:      9,
	coleo.EUnrecognised: 10,
	coleo.EBusy:         11,
	coleo.EStale:        12,
	coleo.EExited:       13,
	coleo.EUnproven:     14,
	coleo.EUnauthorized: 15,
	coleo.EForbidden:    15,

	coleo.ETurnAsks:        16,
	coleo.ETurnFailed:      17,
	coleo.ETurnInterrupted: 18,
}

// exit is an error without a message. The verb has already printed its result.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	return execute(ctx, newRootCommand(), args)
}

// execute is run with a root command whose output may go elsewhere.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var quiet exit
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	asJSON, _ := root.PersistentFlags().GetBool("json")
	printError(root.ErrOrStderr(), err, asJSON)
	if code, ok := exitCodes[coleo.ErrorCode(err)]; ok {
		return code
	}
	return 1
}

func newRootCommand() *cobra.Command {
	root := group("coleo", "Run many coding agents at once, and know what each of them is doing")
	root.SilenceUsage, root.SilenceErrors = true, true
	root.PersistentFlags().Bool("json", false, "print for programs instead of people")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return coleo.Errorf(coleo.EInvalid, "%s: %v (see %s --help)", c.CommandPath(), err, c.CommandPath())
	})
	root.AddCommand(
		newUpCommand(), newDownCommand(), newDoctorCommand(), newManCommand(), newBackupCommand(), newRepairCommand(),
		newWebCommand(), newAuditCommand(),
		newServeCommand(), newAgentCommand(), newArmCommand(), newHarnessCommand(),
		newModelsCommand(), newModelserverCommand(), newScriptedModelCommand(), newScreenCommand(), newHoldCommand(),
		newHookCommand(), newProbeCommand(), newVersionCommand(),
	)
	completeAll(root)
	return root
}

// printError writes one line for users, or the error as JSON for programs.
func printError(w io.Writer, err error, asJSON bool) {
	var e *coleo.Error
	if !errors.As(err, &e) {
		e = coleo.Errorf(coleo.EInternal, "%v", err)
	}
	if asJSON {
		_ = json.NewEncoder(w).Encode(map[string]any{"error": e})
		return
	}
	fmt.Fprintln(w, "coleo:", e.Message)
	if e.Screen != nil {
		for _, line := range e.Screen.Lines {
			if line != "" {
				fmt.Fprintln(w, "  |", line)
			}
		}
	}
}

// wantsJSON reports whether --json was given.
func wantsJSON(c *cobra.Command) bool {
	on, _ := c.Flags().GetBool("json")
	return on
}

func printJSON(c *cobra.Command, v any) error {
	e := json.NewEncoder(c.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// group returns a verb that only has other verbs below it.
func group(use, short string) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,

		SuggestionsMinimumDistance: 2, // cobra's own value, which cobra sets too late here
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			hint := ""
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "; did you mean " + near[0] + "?"
			}
			return coleo.Errorf(coleo.EInvalid, "%s has no verb %q%s (see %s --help)",
				c.CommandPath(), args[0], hint, c.CommandPath())
		},
	}
}

// exactly returns a usage error for a wrong number of arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return coleo.Errorf(coleo.EInvalid, "%s takes %s (see %s --help)", c.CommandPath(), what, c.CommandPath())
	}
}

// atMost returns a usage error for too many arguments.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return coleo.Errorf(coleo.EInvalid, "%s takes %s (see %s --help)", c.CommandPath(), what, c.CommandPath())
	}
}

// self returns the path of this program.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return path, nil
}

// holdCommand returns the command that becomes a holder.
func holdCommand() ([]string, error) {
	path, err := holdProgramPath()
	return []string{path, "hold", "--stdin"}, err
}
