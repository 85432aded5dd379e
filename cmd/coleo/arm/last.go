package arm

import (
	"github.com/spf13/cobra"

	"coleo.dev/api"
)

func newLastCommand() *cobra.Command {
	c := oneArmCommand("last", "Print the arm's last answer",
		func(c *cobra.Command, client *api.Client, name string) (string, any, error) {
			last, err := client.LastRun(c.Context(), name)
			return last.Answer, last, err
		})
	c.Long = `Print the arm's last answer. This also works after the arm has ended.

For a program without answers (harness generic), this prints the program's
output.`
	return c
}
