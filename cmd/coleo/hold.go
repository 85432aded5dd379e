package main

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
	"coleo.dev/hook"
	"coleo.dev/sandbox/container"
	"coleo.dev/sandbox/inside"
	"coleo.dev/window/pane"
)

// This file contains the hidden verbs of holders, hooks, windows and sandboxes.

func newHoldCommand() *cobra.Command {
	var stdin bool
	var dir string
	c := &cobra.Command{
		Use:   "hold --dir DIR -- COMMAND [ARG...]",
		Short: "Keep a program on a terminal, and its output on disk",
		Long: `Keep a program on a pseudo-terminal, and its output on disk.

The process that does this is the holder. It writes each byte of output to
DIR/journal and accepts connections on DIR/hold.sock. It ends when the program
ends, with the program's exit status. Each arm has a holder, which Coleo
starts.`,
		Example: `  coleo hold --dir /tmp/build -- make
  coleo hold replay /tmp/build`,
		RunE: func(_ *cobra.Command, args []string) error {
			if stdin {
				return holder.Serve(os.Stdin, os.Stdout)
			}
			return holdProgram(dir, args)
		},
	}
	c.Flags().BoolVar(&stdin, "stdin", false, "read what to run from standard input, as JSON")
	c.Flags().StringVar(&dir, "dir", "", "`FOLDER` for the journal and the socket")
	c.AddCommand(newReplayCommand())
	return c
}

// holdProgram runs a holder. If this build contains the small holder program, holdProgram replaces
// this process with that program. The process keeps its id.
func holdProgram(dir string, argv []string) error {
	command, err := executable.HolderCommand()
	if err != nil {
		return err
	}
	thisProgram, err := executable.Path()
	if err != nil {
		return err
	}
	if command[0] != thisProgram && dir != "" && len(argv) > 0 {
		args := append([]string{command[0], "hold", "--dir", dir, "--"}, argv...)
		return fmt.Errorf("become the holder: %w", syscall.Exec(command[0], args, os.Environ()))
	}
	code, err := holder.Hold(dir, argv, os.Environ(), command)
	if err != nil || code == 0 {
		return err
	}
	return verb.Exit(code)
}

func newReplayCommand() *cobra.Command {
	var cast bool
	c := &cobra.Command{
		Use:   "replay DIR",
		Short: "Print the output that a holder has kept",
		Args:  verb.Exactly(1, "the holder's folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := holder.AwaitGuard(args[0]); err != nil {
				return err
			}
			dir := holder.JournalDir(args[0])
			if _, err := os.Stat(dir); err != nil {
				return coleo.Errorf(coleo.ENotFound, "there is no journal in %s", args[0])
			}
			if cast {
				_, err := journal.WriteCast(c.OutOrStdout(), dir, journal.CastEdit{})
				return err
			}
			return printJournal(c.OutOrStdout(), dir)
		},
	}
	c.Flags().BoolVar(&cast, "cast", false, "print an asciicast (version 2), with times and sizes")
	return c
}

// newHookCommand returns the verb that agent CLIs run as their hook. It is for builds without the
// small holder program. cobra does not parse the verb's arguments, and the verb never fails.
func newHookCommand() *cobra.Command {
	return &cobra.Command{
		Use:                hook.Verb + " FILE [PAYLOAD]",
		Hidden:             true,
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { hook.Run(args, os.Stdin) },
	}
}

// newWindowCommand returns the verb that runs as the program in a window. It is for builds without
// the small holder program.
func newWindowCommand() *cobra.Command {
	return &cobra.Command{
		Use:    pane.Verb + " FOLDER",
		Hidden: true,
		Args:   verb.Exactly(1, "the folder of a start of an arm"),
		RunE:   func(_ *cobra.Command, args []string) error { return pane.Run(args[0], os.Environ()) },
	}
}

// newSandboxCommands returns the verbs of a sandbox. They are for builds without the small holder
// program.
func newSandboxCommands() []*cobra.Command {
	command := func(name string, run func(argv []string) error) *cobra.Command {
		return &cobra.Command{
			Use:                name + " [ARG...]",
			Hidden:             true,
			DisableFlagParsing: true, // the package `inside` parses the arguments itself
			RunE:               func(_ *cobra.Command, args []string) error { return run(args) },
		}
	}
	return []*cobra.Command{command(inside.StartVerb, inside.Start), command(inside.EnterVerb, inside.Enter),
		command(inside.ProxyVerb, inside.Proxy), command(container.StartVerb, container.Start),
		command(container.InitVerb, container.Init), command(container.CleanVerb, container.Clean)}
}

func printJournal(out io.Writer, dir string) error {
	start, _, err := journal.Span(dir)
	if err != nil {
		return err
	}
	r := journal.NewReader(dir, start)
	defer r.Close()
	if _, err := io.Copy(out, r); err != nil {
		return fmt.Errorf("replay %s: %w", dir, err)
	}
	return nil
}
