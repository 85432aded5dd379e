package trigger

import (
	"fmt"

	"github.com/spf13/cobra"

	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/trigger"
)

// secretNote is printed with the secret of a new webhook.
const secretNote = "(keep it secret; Coleo does not show it again)"

func newCreateCommand() *cobra.Command {
	var f common
	c := &cobra.Command{
		Use:   "create WEBHOOK --template TEMPLATE",
		Short: "Make a webhook, and print its secret once",
		Long: `Make a webhook, and print its secret. A program on this machine that has the secret
starts an arm with a signed request: POST /hooks/WEBHOOK at the address of serve. See
docs/triggers.md for the signature.

The template must have a sandbox and a prompt. The request gives the arguments of the
prompt that you do not give with --arg. They are put into it as quoted text. Nothing
else of the request has an effect.`,
		Example: `  coleo webhook create failed-build --template fix -w ~/src/clone > ~/.failed-build.key`,
		Args:    verb.Exactly(1, "the name of the new webhook"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			f.q.Kind = trigger.Webhook
			made, err := f.add(c.Context(), client, args[0])
			if err != nil {
				return err
			}
			if !made.On {
				c.PrintErrln("coleo: note:", offNote)
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, made)
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), made.Secret); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.ErrOrStderr(), "webhook %s: POST /hooks/%s\n%s\n", made.Trigger.Name, made.Trigger.Name,
				secretNote)
			return err
		}),
	}
	f.addFlags(c)
	return c
}
