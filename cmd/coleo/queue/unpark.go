package queue

import (
	"fmt"

	"github.com/spf13/cobra"

	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

const unparkHelp = `Continue a parked arm now, before its limit has passed.

Coleo sends the prompt that continues the arm as soon as the arm can take a
prompt. If the arm is parked because a budget refused a prompt, no turn was cut off.
Coleo then types nothing. With --cancel, the arm does not continue by itself, and Coleo sends
prompts from its queue again. 'coleo arm prompt' also ends the wait.
`

func newUnparkCommand() *cobra.Command {
	var cancel bool
	c := &cobra.Command{
		Use:   "unpark NAME",
		Short: "Continue an arm that waits for the end of a limit",
		Long:  unparkHelp,
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			r, err := client.UnparkArm(c.Context(), args[0], cancel)
			done := fmt.Sprintf("%s goes on", args[0])
			switch {
			case cancel:
				done = fmt.Sprintf("%s does not continue by itself", args[0])
			case r.ID == "": // the report names no prompt, because the arm needs none to continue
				done = fmt.Sprintf("%s is no longer parked; no turn was cut off, so no prompt is needed", args[0])
			}
			return sayUnless(c, err, done, r)
		}),
	}
	c.Flags().BoolVar(&cancel, "cancel", false, "do not continue by itself")
	return c
}
