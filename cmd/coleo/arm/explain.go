package arm

import (
	"github.com/spf13/cobra"

	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Explain why the arm is in its state",
		Long:  show.ExplainHelp,
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			x, err := client.Explain(c.Context(), args[0])
			if err != nil {
				return err
			}
			return show.Explanation(c, x)
		}),
	}
}
