// Package arm has the verbs of coleo arm.
package arm

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// Command returns the verb arm with the verbs below it.
func Command() *cobra.Command {
	c := verb.Group("arm", "Start, steer and look at arms")
	c.AddCommand(
		newSpawnCommand(), newListCommand(), newStatusCommand(), newPromptCommand(), newWaitCommand(),
		newDecideCommand("approve", "Approve what the arm asks", coleo.Approve),
		newDecideCommand("deny", "Deny what the arm asks", coleo.Deny),
		newAnswerCommand(), newInterruptCommand(), newRecoverCommand(), newWatchCommand(), newAttachCommand(),
		newScreenCommand(), newRecordCommand(), newExplainCommand(), newLastCommand(), newTranscriptCommand(),
		newUsageCommand(), newLogsCommand(),
		newKillCommand(), newRemoveCommand(), newRenameCommand(),
	)
	return c
}

// oneArmCommand returns an arm verb that takes the arm's name and prints one line.
func oneArmCommand(
	use, short string, do func(c *cobra.Command, client *api.Client, name string) (line string, result any, err error),
) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			line, result, err := do(c, client, args[0])
			if err != nil {
				return err
			}
			return verb.Say(c, line, result)
		}),
	}
}

func running(arm coleo.Arm) bool { return arm.Status != coleo.StatusStopped }

func newInterruptCommand() *cobra.Command {
	return bulkCommand(bulk{"interrupt", "Stop the running turn", running,
		func(ctx context.Context, client *api.Client, name string) (string, any, error) {
			err := client.Interrupt(ctx, name)
			return "Interrupted " + name, map[string]string{"interrupted": name}, err
		}})
}

func newKillCommand() *cobra.Command {
	return bulkCommand(bulk{"kill", "End the arm and everything that it started",
		running, func(ctx context.Context, client *api.Client, name string) (string, any, error) {
			arm, err := client.Kill(ctx, name)
			return "Killed " + name, arm, err
		}})
}

func newRemoveCommand() *cobra.Command {
	any := func(coleo.Arm) bool { return true }
	return bulkCommand(bulk{"remove", "Forget a stopped arm and delete its journal", any, removeArm})
}

func removeArm(ctx context.Context, client *api.Client, name string) (string, any, error) {
	err := client.Remove(ctx, name)
	return "Removed " + name, map[string]string{"removed": name}, err
}

func newRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Give an arm another name",
		Args:  verb.Exactly(2, "the name of an arm and its new name"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			arm, err := client.Rename(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return verb.Say(c, "Renamed "+args[0]+" to "+arm.Name, arm)
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

// liveArmCommand returns an arm verb that needs a live session. Without one, the error
// names the verb that brings the session back.
func liveArmCommand(use, short string, do func(c *cobra.Command, client *api.Client, arm coleo.Arm) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			arm, err := client.Arm(c.Context(), args[0])
			if err != nil {
				return err
			}
			if arm.Status == coleo.StatusStopped {
				return coleo.Errorf(coleo.EExited, "arm %s has no live session (%s: %s): 'coleo arm recover %s' takes it up again",
					arm.Name, arm.Runtime.State, arm.Runtime.Reason, arm.Name)
			}
			return do(c, client, arm)
		}),
	}
}
