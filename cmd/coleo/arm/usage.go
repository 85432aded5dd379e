package arm

import (
	"fmt"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
)

func newUsageCommand() *cobra.Command {
	return oneArmCommand("usage", "Print the tokens of the conversation, as the agent CLI counts them",
		func(c *cobra.Command, client *api.Client, arm string) (string, any, error) {
			u, err := client.Usage(c.Context(), arm)
			if err != nil {
				return "", nil, err
			}
			return usageLine(u), u, nil
		})
}

// usageLine returns the usage as one line of text for users.
func usageLine(u coleo.Usage) string {
	line := fmt.Sprintf("%d tokens: %d sent", u.Total(), u.Input)
	if u.Cached > 0 {
		line += fmt.Sprintf(" (%d from a cache)", u.Cached)
	}
	line += fmt.Sprintf(", %d received", u.Output)
	if u.Reasoning > 0 {
		line += fmt.Sprintf(" (%d of reasoning)", u.Reasoning)
	}
	if u.Cost > 0 {
		line += fmt.Sprintf("; $%.4f", u.Cost)
	}
	if u.Approximate {
		line = "about " + line
	}
	return line + ", from the " + u.Source
}
