package arm

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

func newCompactCommand() *cobra.Command {
	var wait bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "compact NAME",
		Short: "Make the agent CLI shorten its conversation",
		Long: `Make the agent CLI shorten its conversation. The conversation goes on.

The agent CLI uses its own command for that, and may ask its model. The rules
are those of 'coleo arm prompt'. The command is typed once, and never into a
dialog. It is refused while the agent CLI works. If it cannot be proven that
the command arrived, the exit code is 7. If a dialog is open, it is 6. If the
agent CLI has no such command, it is 2 and nothing is typed.

Without --wait, this returns when the agent CLI has taken the command. With
--wait, it returns when the turn has ended, with the exit codes of
'coleo arm prompt --wait'. Such a turn has no answer.`,
		Example: `  coleo arm compact fix --wait`,
		Args:    verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			return compact(c, client, args[0], wait, timeout)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the end of the turn")
	c.Flags().DurationVar(&timeout, "timeout", 0, "with --wait: maximum wait (default: no limit)")
	return c
}

func compact(c *cobra.Command, client *api.Client, name string, wait bool, timeout time.Duration) error {
	receipt, err := client.Compact(c.Context(), name)
	if err != nil {
		return err
	}
	if !wait {
		return verb.Say(c, fmt.Sprintf("%s has begun to shorten its conversation (%s)", name, receipt.Proof),
			deliveredPrompt{true, receipt.ID, receipt})
	}
	end, err := AwaitTurn(c.Context(), client, name, receipt.ID, timeout)
	line := ""
	if end.Outcome == coleo.OutcomeFinished {
		line = name + " has shortened its conversation"
	}
	if verb.WantsJSON(c) || line != "" {
		err = errors.Join(verb.Say(c, line, end), err)
	}
	return err
}
