package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
)

func newArmCommand() *cobra.Command {
	c := group("arm", "Start, steer and look at arms")
	c.AddCommand(
		newArmSpawnCommand(), newArmListCommand(), newArmStatusCommand(), newArmPromptCommand(), newArmWaitCommand(),
		newArmDecideCommand("approve", "Approve what the arm asks", coleo.Approve),
		newArmDecideCommand("deny", "Deny what the arm asks", coleo.Deny),
		newArmAnswerCommand(), newArmInterruptCommand(), newArmRecoverCommand(), newArmWatchCommand(), newArmAttachCommand(),
		newArmScreenCommand(), newArmRecordCommand(), newArmExplainCommand(), newArmLastCommand(), newArmTranscriptCommand(),
		newArmUsageCommand(), newArmLogsCommand(),
		newArmKillCommand(), newArmRemoveCommand(), newArmRenameCommand(),
	)
	return c
}

// withClient returns the function of a verb that needs the API.
func withClient(
	do func(c *cobra.Command, client *api.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		s, err := newSetup()
		if err != nil {
			return err
		}
		client, err := s.client()
		if err != nil {
			return err
		}
		err = do(c, client, args)
		if api.Unsent(err) && s.stopped() == nil && !s.serves(c.Context()) {
			away := coleo.Errorf(coleo.EUnavailable, "Coleo does not run here: start it with 'coleo up'")
			var e *coleo.Error
			if errors.As(err, &e) {
				away.Delivered = e.Delivered
			}
			return away
		}
		return didYouMean(c.Context(), client, err)
	}
}

// verb returns an arm verb that takes the arm's name and prints one line.
func verb(
	use, short string, do func(c *cobra.Command, client *api.Client, name string) (line string, result any, err error),
) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  exactly(1, "the name of an arm"),
		RunE: withClient(func(c *cobra.Command, client *api.Client, args []string) error {
			line, result, err := do(c, client, args[0])
			if err != nil {
				return err
			}
			return say(c, line, result)
		}),
	}
}

// say prints a line for users, or the result as JSON for programs.
func say(c *cobra.Command, line string, result any) error {
	if wantsJSON(c) {
		return printJSON(c, result)
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), line)
	return err
}

func running(arm coleo.Arm) bool { return arm.Status != coleo.StatusStopped }

func newArmInterruptCommand() *cobra.Command {
	return newBulkCommand(bulk{"interrupt", "Stop the running turn", running,
		func(ctx context.Context, client *api.Client, name string) (string, any, error) {
			err := client.Interrupt(ctx, name)
			return "Interrupted " + name, map[string]string{"interrupted": name}, err
		}})
}

func newArmKillCommand() *cobra.Command {
	return newBulkCommand(bulk{"kill", "End the arm and everything that it started",
		running, func(ctx context.Context, client *api.Client, name string) (string, any, error) {
			arm, err := client.Kill(ctx, name)
			return "Killed " + name, arm, err
		}})
}

func newArmRemoveCommand() *cobra.Command {
	any := func(coleo.Arm) bool { return true }
	return newBulkCommand(bulk{"remove", "Forget a stopped arm and delete its journal", any, removeArm})
}

func removeArm(ctx context.Context, client *api.Client, name string) (string, any, error) {
	err := client.Remove(ctx, name)
	return "Removed " + name, map[string]string{"removed": name}, err
}

func newArmRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Give an arm another name",
		Args:  exactly(2, "the name of an arm and its new name"),
		RunE: withClient(func(c *cobra.Command, client *api.Client, args []string) error {
			arm, err := client.Rename(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return say(c, "Renamed "+args[0]+" to "+arm.Name, arm)
		}),
	}
}

// waitArm waits until an arm is in one of the states, for up to limit.
func waitArm(ctx context.Context, client *api.Client, name string, limit time.Duration,
	states ...coleo.State) (coleo.Arm, error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	arm, err := client.WaitArm(bounded, name, states...)
	if coleo.ErrorCode(err) != coleo.ETimeout || bounded.Err() == nil {
		return arm, err
	}
	now, lookErr := client.Arm(ctx, name)
	if lookErr != nil {
		return arm, err
	}
	return now, coleo.Errorf(coleo.ETimeout, "arm %s is still %s after %s", now.Name, stateWord(now), limit)
}
