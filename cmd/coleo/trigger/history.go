package trigger

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/trigger"
)

func newHistoryCommand(kind trigger.Kind) *cobra.Command {
	limit, before := 0, int64(0)
	c := &cobra.Command{
		Use:   "history [" + nameUse(kind) + "]",
		Short: "List runs, missed runs and refused requests",
		Long: `List what has happened to schedules and webhooks: runs, missed runs and refused
requests. The last row is the newest. Without a name, the list has all schedules and
webhooks, also those that were removed.`,
		Args: verb.AtMost(1, "the name of a "+word(kind)+", or nothing"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			entries, err := client.TriggerHistory(c.Context(), name, before, limit)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"history": entries})
			}
			if len(entries) == 0 {
				_, err := fmt.Fprintln(c.OutOrStdout(), "Nothing has happened yet.")
				return err
			}
			return printHistory(c, entries)
		}),
	}
	c.Flags().IntVar(&limit, "limit", 0, "maximum number of entries, 1 to 1000 (default 100)")
	c.Flags().Int64Var(&before, "before", 0, "list only entries older than the entry with this `ID`")
	return c
}

// printHistory prints entries as a table, newest last.
func printHistory(c *cobra.Command, entries []trigger.Entry) error {
	w := show.NewTable(c)
	fmt.Fprintln(w, "ID\tTIME\tTRIGGER\tWHAT\tARM\tDETAIL")
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Time.Local().Format(time.DateTime), show.OrDash(e.Trigger),
			describeEntry(e), show.OrDash(e.ArmName), show.OrDash(entryDetail(e)))
	}
	return w.Flush()
}

// describeEntry describes an entry in a few words.
func describeEntry(e trigger.Entry) string {
	more := ""
	if e.More {
		more = "more than "
	}
	switch e.Kind {
	case trigger.EntryMissed:
		return fmt.Sprintf("missed %s%d", more, e.Count)
	case trigger.EntryRefused:
		return fmt.Sprintf("refused %d", e.Count)
	case trigger.EntryRun:
	}
	return "run " + string(e.State)
}

// entryDetail returns further details of an entry, in one line.
func entryDetail(e trigger.Entry) string {
	out := e.Why
	add := func(text string) {
		if out != "" {
			out = "; " + out
		}
		out = text + out
	}
	switch {
	case e.Kind == trigger.EntryMissed && e.CatchUp:
		add("one run makes up for them")
	case e.ByHand:
		add("by hand")
	case e.Key != "":
		add("request " + e.Key)
	case !e.Due.IsZero() && e.CatchUp:
		add("makes up for " + e.Due.Local().Format(time.DateTime))
	case !e.Due.IsZero():
		add("due " + e.Due.Local().Format(time.DateTime))
	}
	return out
}
