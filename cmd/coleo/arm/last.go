package arm

import (
	"github.com/spf13/cobra"

	"coleo.dev/api"
)

func newLastCommand() *cobra.Command {
	return oneArmCommand("last", "Print the last answer of the arm",
		func(c *cobra.Command, client *api.Client, name string) (string, any, error) {
			last, err := client.LastRun(c.Context(), name)
			return last.Answer, last, err
		})
}
