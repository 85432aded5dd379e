package changes

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/changes"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

// CommentCommand returns the verb "arm comment".
func CommentCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "comment NAME FILE:LINE TEXT",
		Short: "Store a comment on a line of the arm's changes",
		Long: `Store a comment on a line of the arm's changes. Serve keeps the comments until
'coleo arm comments NAME --send' sends them all as one prompt. FILE is relative to the
arm's folder.`,
		Example: `  coleo arm comment fix src/main.go:12 "why not os.ReadFile?"
  coleo arm comments fix --send`,
		Args: verb.Exactly(3, "the name of an arm, a file and a line such as main.go:12, and a text"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			at := strings.LastIndex(args[1], ":")
			line, err := strconv.Atoi(args[1][at+1:])
			if at < 1 || err != nil || line < 1 {
				return coleo.Errorf(coleo.EInvalid, "%q is not a file and a line: write FILE:LINE, such as main.go:12", args[1])
			}
			path := args[1][:at]
			list, err := client.Comment(c.Context(), args[0], changes.Comment{Path: path, Line: line, Text: args[2]})
			if err != nil {
				return err
			}
			d, err := client.Diff(c.Context(), args[0], changes.DiffRequest{Stat: true, Paths: []string{path}}, false)
			if err == nil {
				noteUnchanged(c, args[0], d, []string{path})
			}
			return verb.Say(c, fmt.Sprintf("Stored. Not sent yet: %s for arm %s.",
				verb.Counted(len(list), "comment"), args[0]), list)
		}),
	}
}

// CommentsCommand returns the verb "arm comments".
func CommentsCommand() *cobra.Command {
	var send, drop bool
	c := &cobra.Command{
		Use:   "comments NAME",
		Short: "List, send or delete the comments on the arm's changes",
		Long: `List the comments on the arm's changes that are not sent. --send sends them all as
one prompt, and forgets them when the prompt has arrived. After an error, all
comments are kept. --drop deletes them.`,
		Args: verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			switch {
			case send:
				sent, err := client.SendComments(c.Context(), args[0])
				if err != nil {
					return err
				}
				line := fmt.Sprintf("Sent %s, as the prompt of run %s.", verb.Counted(sent.Comments, "comment"), sent.Receipt.ID)
				if cleared := show.Cleared(sent.Receipt); cleared != "" {
					line += "\n" + cleared
				}
				return verb.Say(c, line, sent)
			case drop:
				list, err := client.DropComments(c.Context(), args[0])
				if err != nil {
					return err
				}
				return verb.Say(c, fmt.Sprintf("Deleted %s.", verb.Counted(len(list), "comment")), list)
			}
			list, err := client.Comments(c.Context(), args[0])
			if err != nil {
				return err
			}
			return verb.Say(c, commentsText(list), list)
		}),
	}
	c.Flags().BoolVar(&send, "send", false, "send all comments as one prompt")
	c.Flags().BoolVar(&drop, "drop", false, "delete the comments")
	c.MarkFlagsMutuallyExclusive("send", "drop")
	return c
}

func commentsText(list []changes.Comment) string {
	if len(list) == 0 {
		return "No comments."
	}
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", changes.Show(c.Path), c.Line,
			visible(strings.ReplaceAll(c.Text, "\n", " "))))
	}
	return strings.Join(lines, "\n")
}
