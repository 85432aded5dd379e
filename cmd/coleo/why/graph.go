package why

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// GraphCommand returns the verb "run graph".
func GraphCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "graph RUN",
		Short: "Show a run as a graph: turns, calls, approvals, files",
		Long: `Show a run as a graph: turns, texts, calls of tools, approvals and files, and what
led to what.

The text is a tree. The format json has every node and edge. The format dot is
for the program dot of Graphviz. The events of approvals do not name their
calls. So the graph says whether Coleo found the call by its subject or by the
order.`,
		Example: `  coleo run graph RUN
  coleo run graph RUN --format dot | dot -Tsvg > run.svg`,
		Args: verb.Exactly(1, "the id of a run"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			return printGraph(c, client, args[0], format)
		}),
	}
	c.Flags().StringVar(&format, "format", "text", "`FORMAT` of the graph: text, json or dot")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

var formats = []string{"text", "json", "dot"}

func printGraph(c *cobra.Command, client *apiclient.Client, run, format string) error {
	if format != "text" && format != "json" && format != "dot" {
		return coleo.Errorf(coleo.EInvalid, "there is no format %q; the formats are text, json and dot", format)
	}
	g, err := client.Graph(c.Context(), run)
	if err != nil {
		return err
	}
	if format == "json" || verb.WantsJSON(c) {
		return verb.PrintJSON(c, g)
	}
	text := g.Text()
	if format == "dot" {
		text = g.Dot()
	}
	if _, err := io.WriteString(c.OutOrStdout(), text); err != nil {
		return err
	}
	if g.Partial {
		fmt.Fprintln(c.ErrOrStderr(), "The run has more events than were read.")
	}
	return nil
}
