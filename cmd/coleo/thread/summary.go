package thread

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
)

func newSummaryCommand() *cobra.Command {
	c := threadVerb("summary ID", "Print a conversation in a few lines", 1, "the id of a conversation",
		func(c *cobra.Command, client *apiclient.Client, t coleo.Thread, _ []string) error {
			s, err := client.ThreadSummary(c.Context(), t.Harness, t.ID)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, s)
			}
			_, err = fmt.Fprint(show.Writer(c), summaryText(s))
			return err
		})
	c.Long = `Print a conversation in a few lines: its first prompt, its last prompts, its last
answer, the files that Coleo's arms have changed in it, and its open tasks.

The texts are parts of the conversation, and no model is asked. However long the
conversation is, this is shorter than 8,000 characters.`
	return c
}

// summaryText returns a summary as text for people. It omits empty parts of the summary.
func summaryText(s coleo.ThreadSummary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s, %s, %d prompts, %d answers, %d calls of tools\n", show.OrDash(s.Title), s.Harness,
		show.OrDash(s.Folder), s.Prompts, s.Answers, s.Tools)
	part := func(title string, texts []string, more int) {
		if len(texts) == 0 || texts[0] == "" {
			return
		}
		fmt.Fprintf(&b, "\n%s:\n", title)
		for _, text := range texts {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(printable.Text(text), "\n", "\n  "))
		}
		if more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	part("First prompt", []string{s.First}, 0)
	part("Last prompts", s.Recent, 0)
	part("Last answer", []string{s.Answer}, 0)
	part("Files changed", s.Files, s.MoreFiles)
	var tasks []string
	for _, t := range s.Tasks {
		tasks = append(tasks, fmt.Sprintf("[%s] %s", strings.ReplaceAll(string(t.Status), "_", " "), t.Text))
	}
	part("Open tasks", tasks, s.MoreTasks)
	return b.String()
}
