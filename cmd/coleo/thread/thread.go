// Package thread contains the verbs below "thread", and the verbs "arm thread" and "arm fork".
package thread

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
)

const help = `List, search and continue the conversations of the agent CLIs on this machine.

Coleo reads the agent CLIs' own files, and only when you use these verbs. It keeps
an index in its state folder, which only you can read. See docs/security.md.

ID is the agent CLI's own id of a conversation, or the beginning of it.`

// Command returns the verb "thread" with the verbs below it.
func Command() *cobra.Command {
	c := verb.Group("thread", "List, search and continue the conversations of agent CLIs")
	c.Long = help
	c.AddCommand(newListCommand(), newSearchCommand(), newShowCommand(), newSummaryCommand(), newRenameCommand(),
		newDeleteCommand(), newCloneCommand(), newResumeCommand())
	return c
}

// filterFlags adds the flags that select conversations. After the flags are parsed, the caller must pass the
// filter to wholeFilter, which makes the folder of --project absolute.
func filterFlags(c *cobra.Command, f *coleo.ThreadFilter, since *time.Duration) {
	flags := c.Flags()
	flags.StringVar(&f.Project, "project", "", "only of the git repository with this `FOLDER`")
	flags.StringVar(&f.Harness, "harness", "", "only of the harness `NAME`")
	flags.StringVar(&f.Arm, "arm", "", "only conversations that the arm `NAME` can continue")
	flags.DurationVar(since, "since", 0, "only conversations with a message in the last `TIME`, such as 24h")
	flags.BoolVarP(&f.Hidden, "all", "a", false, "also copies, subagents' conversations and deleted ones")
	flags.IntVar(&f.Limit, "limit", 0, "maximum number of conversations, 1 to 500 (default 50)")
}

// wholeFilter completes a filter after the flags are parsed: it adds the time of --since, and makes the folder
// of --project absolute.
func wholeFilter(f coleo.ThreadFilter, since time.Duration) (coleo.ThreadFilter, error) {
	if since > 0 {
		f.Since = time.Now().Add(-since)
	}
	if f.Project == "" {
		return f, nil
	}
	dir, err := filepath.Abs(f.Project)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return f, coleo.Errorf(coleo.EInvalid, "--project %s: %v", f.Project, err)
	}
	f.Project = dir
	return f, nil
}

func newListCommand() *cobra.Command {
	var f coleo.ThreadFilter
	var since time.Duration
	c := &cobra.Command{
		Use:   "list",
		Short: "List conversations, the newest first",
		Example: `  coleo thread list --project .
  coleo thread list --harness HARNESS --since 24h`,
		Args: verb.Exactly(0, "no arguments: 'coleo thread search WORDS' searches"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, _ []string) error {
			return list(c, client, f, since)
		}),
	}
	filterFlags(c, &f, &since)
	return c
}

func newSearchCommand() *cobra.Command {
	var f coleo.ThreadFilter
	var since time.Duration
	c := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Search prompts and answers, the best match first",
		Long: `Search the prompts and answers of all conversations. The best match is first.

All words must be in one prompt or answer. "words in quotes" must follow each other.
word* finds every word that begins with word. Capital letters and accents do not matter.`,
		Example: `  coleo thread search parser fails
  coleo thread search '"unexpected token"' --project .`,
		Args: cobra.ArbitraryArgs,
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if f.Words = strings.Join(args, " "); strings.TrimSpace(f.Words) == "" {
				return coleo.Errorf(coleo.EInvalid, "%s takes the words to search for", c.CommandPath())
			}
			return list(c, client, f, since)
		}),
	}
	filterFlags(c, &f, &since)
	return c
}

func list(c *cobra.Command, client *apiclient.Client, f coleo.ThreadFilter, since time.Duration) error {
	f, err := wholeFilter(f, since)
	if err != nil {
		return err
	}
	out, err := client.Threads(c.Context(), f)
	if err != nil {
		return err
	}
	if len(out.Threads) == 0 {
		if err := setup.CheckHarnessNames(c.Context(), client, f.Harness); err != nil {
			return err
		}
	}
	if verb.WantsJSON(c) {
		return verb.PrintJSON(c, out)
	}
	for _, line := range out.Failed {
		c.PrintErrln("coleo: note: not read:", line)
	}
	if out.Unread > 0 {
		c.PrintErrf("coleo: note: %d conversations are not read yet: repeat this command to read more of them\n", out.Unread)
	}
	if len(out.Threads) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "No conversations.")
		return err
	}
	if f.Words != "" {
		return printMatches(c, out.Threads)
	}
	return printList(c, out.Threads)
}

const titleCols = 60 // the largest width of a title in a table, in columns

func printList(c *cobra.Command, threads []coleo.Thread) error {
	w := show.NewTable(c)
	fmt.Fprintln(w, "ID\tHARNESS\tLAST\tPROMPTS\tARM\tTITLE")
	for _, t := range threads {
		prompts := fmt.Sprint(t.Prompts)
		if t.Partly {
			prompts += "+"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Harness, localTime(t), prompts, show.OrDash(t.Arm),
			show.Cut(titleOf(t), titleCols))
	}
	return w.Flush()
}

// printMatches prints each conversation with the text that the search has found. On a terminal, the
// words of the search are yellow.
func printMatches(c *cobra.Command, threads []coleo.Thread) error {
	w := show.Writer(c)
	for _, t := range threads {
		var text strings.Builder
		for _, p := range t.Match {
			if p.Match {
				text.WriteString(show.Yellow.Paint(p.Text))
			} else {
				text.WriteString(p.Text)
			}
		}
		if _, err := fmt.Fprintf(w, "%s  %s  %s  %s\n    %s\n", t.ID, t.Harness, localTime(t), titleOf(t),
			text.String()); err != nil {
			return err
		}
	}
	return nil
}

func localTime(t coleo.Thread) string { return t.Last.Local().Format("2006-01-02 15:04") }

func titleOf(t coleo.Thread) string {
	title := show.OrDash(t.Title)
	if t.Hidden != "" {
		title = "(" + t.Hidden + ") " + title
	}
	return title
}

// find returns the conversation with the given id, or the only conversation whose id begins with
// the given text.
func find(ctx context.Context, client *apiclient.Client, id string) (coleo.Thread, error) {
	out, err := client.Threads(ctx, coleo.ThreadFilter{Prefix: id, Hidden: true})
	if err != nil {
		return coleo.Thread{}, err
	}
	for _, t := range out.Threads {
		if t.ID == id {
			return t, nil
		}
	}
	switch {
	case len(out.Threads) == 1:
		return out.Threads[0], nil
	case len(out.Threads) > 1:
		return coleo.Thread{}, coleo.Errorf(coleo.EInvalid,
			"%d conversations have an id that begins with %s: give more of it", len(out.Threads), id)
	}
	return coleo.Thread{}, coleo.Errorf(coleo.ENotFound,
		"no conversation has the id %s: 'coleo thread list --all' lists them", id)
}

// threadVerb returns a verb that takes the id of one conversation and the given number of further
// arguments.
func threadVerb(use, short string, args int, what string,
	do func(c *cobra.Command, client *apiclient.Client, t coleo.Thread, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  verb.Exactly(args, what),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			t, err := find(c.Context(), client, args[0])
			if err != nil {
				return err
			}
			return do(c, client, t, args[1:])
		}),
	}
}

func newShowCommand() *cobra.Command {
	var after, limit int
	c := threadVerb("show ID", "Print a conversation: prompts, answers and the names of tools", 1,
		"the id of a conversation",
		func(c *cobra.Command, client *apiclient.Client, t coleo.Thread, _ []string) error {
			page, err := client.Thread(c.Context(), t.Harness, t.ID, after, limit)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, page)
			}
			return printPage(c, page)
		})
	c.Flags().IntVar(&after, "after", 0, "begin after the message with this `NUMBER`")
	c.Flags().IntVar(&limit, "limit", 100, "maximum number of messages, 1 to 200")
	return c
}

func printPage(c *cobra.Command, page coleo.ThreadPage) error {
	t, w := page.Thread, show.Writer(c)
	fmt.Fprintf(w, "%s\n%s, %s, last message %s\n", titleOf(t), t.Harness, show.OrDash(t.Folder), localTime(t))
	if t.Arm != "" {
		fmt.Fprintf(w, "arm %s has it\n", t.Arm)
	}
	for _, m := range page.Messages {
		colour := map[string]show.Colour{"prompt": show.Cyan, "tool": show.Yellow}[m.Kind]
		if colour == "" {
			colour = show.Plain
		}
		fmt.Fprintf(w, "\n%s\n", colour.Paint(fmt.Sprintf("%d %s", m.N, m.Kind)))
		fmt.Fprintln(w, printable.Text(m.Text))
	}
	if page.Next > 0 {
		_, err := fmt.Fprintf(w, "\nMore: coleo thread show %s --after %d\n", printable.ShellWord(t.ID), page.Next)
		return err
	}
	return nil
}

func newRenameCommand() *cobra.Command {
	c := threadVerb("rename ID TITLE", "Give a conversation a title, which Coleo keeps", 2,
		"the id of a conversation and a title",
		func(c *cobra.Command, client *apiclient.Client, t coleo.Thread, args []string) error {
			now, err := client.RenameThread(c.Context(), t.Harness, t.ID, args[0])
			if err != nil {
				return err
			}
			return verb.Say(c, "The title of "+t.ID+" is "+show.OrDash(now.Title), now)
		})
	c.Long = `Give a conversation a title. Coleo keeps it, and the agent CLI does not see it. An
empty title means the agent CLI's own title again.`
	return c
}

func newDeleteCommand() *cobra.Command {
	var file bool
	c := threadVerb("delete ID", "Hide a conversation and forget its texts", 1, "the id of a conversation",
		func(c *cobra.Command, client *apiclient.Client, t coleo.Thread, _ []string) error {
			if err := client.DeleteThread(c.Context(), t.Harness, t.ID, file); err != nil {
				return err
			}
			line := "Hidden: " + t.ID + "; the agent CLI's own file stays: " + t.Path
			if file {
				line = "Deleted: " + t.ID + " and " + t.Path
			}
			return verb.Say(c, line, map[string]any{"deleted": t.ID, "file": file})
		})
	c.Long = `Hide a conversation from lists and searches, and delete its texts from Coleo's
index. With --file, this also deletes the agent CLI's own file, which cannot be
restored. While an arm has the conversation, nothing is deleted.`
	c.Flags().BoolVar(&file, "file", false, "also delete the agent CLI's own file")
	return c
}
