// Package terminal contains the verbs of coleo arm that show an arm's terminal: attach, open, screen,
// logs and record.
package terminal

import (
	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// Commands returns the verbs of this package, which belong below coleo arm.
func Commands() []*cobra.Command {
	return []*cobra.Command{newAttachCommand(), newOpenCommand(), newScreenCommand(), newRecordCommand(),
		newLogsCommand()}
}

// liveArmCommand returns a verb for an arm with a live session. If the arm has a live session, the
// verb calls the given function. Otherwise the verb returns the error of HasEnded.
func liveArmCommand(use, short string,
	do func(c *cobra.Command, client *apiclient.Client, arm coleo.Arm) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			arm, err := client.Arm(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := HasEnded(arm); err != nil {
				return err
			}
			return do(c, client, arm)
		}),
	}
}

// HasEnded returns EExited if the arm has no live session. The error names the verb
// that recovers the arm. Otherwise HasEnded returns nil.
func HasEnded(arm coleo.Arm) error {
	if arm.Status != coleo.StatusStopped {
		return nil
	}
	return coleo.Errorf(coleo.EExited, "arm %s has no live session (%s: %s): 'coleo arm recover %s' recovers it",
		arm.Name, arm.Runtime.State, arm.Runtime.Reason, arm.Name)
}
