package queue

import (
	"fmt"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

const onLimitHelp = `Show what an arm does at a limit of its model, or change it.

STEPS is a list of steps, separated by commas. The arm tries them in this order:
  model:NAME        it continues with another model of its harness
  handover:HARNESS  a new arm of the harness gets the task
  wait or ask       the last step: it waits for the end of the limit, or for you

If the arm is parked at a limit, the change applies to this limit too. Steps that were
tried at this limit are not tried again. The arm keeps the change when it is started
again. The default of new arms is on_limit below [limits] in config.toml.`

func newOnLimitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "on-limit NAME [STEPS]",
		Short: "Show or change what an arm does at a limit of its model",
		Long:  onLimitHelp,
		Example: `  coleo arm on-limit fix model:NAME,handover:HARNESS,wait
  coleo arm on-limit fix ask`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 && args[1] != "" {
				return nil
			}
			return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm, and then a list of steps", c.CommandPath())
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			on := coleo.OnLimit("")
			if len(args) == 2 {
				on = coleo.OnLimit(args[1])
			}
			r, err := client.OnLimit(c.Context(), args[0], on)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("%s at a limit: %s", r.Arm, r.OnLimit)
			if r.Parked != nil {
				text += "\nparked " + r.Parked.Line()
			}
			return verb.Say(c, text, r)
		}),
	}
}
