package run

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// This file contains the verb run list.

const (
	// listed is the number of runs in the list if the user gives no number.
	listed = 20
	// promptWidth is the largest width, in cells, of a prompt in the list if the output is not a
	// terminal.
	promptWidth = 60
	// armWidth is the largest width of an arm's name in a line, in cells.
	armWidth = 14
	// listArmWidth is the largest width of an arm's name in the list, in cells, on a wide terminal or without a
	// terminal. It has room for the names of arms of a fan-out, so that people can copy them.
	listArmWidth = 24
	// wideEnough is the smallest width, in cells, of a terminal that has room for names of the
	// width listArmWidth.
	wideEnough = 100
)

// listFlags contains the flags of run list.
type listFlags struct {
	outcome string
	since   string
	before  string
	limit   int
}

func newListCommand() *cobra.Command {
	var f listFlags
	c := &cobra.Command{
		Use:   "list [ARM]",
		Short: "List the runs, the newest first",
		Long: `List the runs, the newest first. With ARM, this lists only the runs of that arm.

A run is one prompt and everything up to the end of its turn. --since takes a
time such as 2026-01-02T15:04:05Z, or an age such as 2h.`,
		Example: `  coleo run list fix --outcome failed
  coleo run list --since 2h`,
		Args: verb.AtMost(1, "the name of an arm, or nothing"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			filter := wire.RunFilter{Outcome: coleo.Outcome(f.outcome), Before: f.before, Limit: f.limit}
			if len(args) == 1 {
				filter.Arm = args[0]
			}
			var err error
			if filter.Since, err = parseSince(f.since, time.Now()); err != nil {
				return err
			}
			list, next, err := client.Runs(c.Context(), filter)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"runs": list, "next": next})
			}
			text := runTable(list, time.Now(), show.Width(c))
			if len(list) == f.limit {
				text += "older runs: --before " + next + "\n"
			}
			_, err = io.WriteString(show.Writer(c), text)
			return err
		}),
	}
	c.Flags().StringVar(&f.outcome, "outcome", "", "`OUTCOME`: open, finished, failed, interrupted, died, unproven")
	c.Flags().StringVar(&f.since, "since", "", "list only runs since this `TIME` or age")
	c.Flags().StringVar(&f.before, "before", "", "list only runs older than this `CURSOR`")
	c.Flags().IntVar(&f.limit, "limit", listed, "maximum `NUMBER` of runs, 1 to 1000")
	return c
}

// parseSince returns the time in the flag --since. If the flag is empty, it returns the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age.Abs()), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, coleo.Errorf(coleo.EInvalid, "--since %q: give a time such as 2026-01-02T15:04:05Z, or an age such as 2h",
			text)
	}
	return at, nil
}

// runTable returns a table of runs for users. It cuts the last column so that rows have at most the given
// width. The width 0 means that there is no terminal, so that runTable cuts nothing.
func runTable(list []coleo.Run, now time.Time, width int) string {
	if len(list) == 0 {
		return "No runs.\n"
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "RUN\tARM\tAGE\tTOOK\t%s\tCALLS\tPROMPT\n", show.Plain.Paint("OUTCOME"))
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", short(r.ID), cut(r.ArmName, widthOfNames(width)),
			show.Since(r.Started, now), durationOf(r, now), outcomeColour(r).Paint(outcomeWord(r)), callsText(r),
			promptOf(r))
	}
	_ = w.Flush() // ignore the error, because writing to memory never fails
	return show.CutLines(table.String(), width)
}

// widthOfNames returns the largest width of an arm's name in the list, for a terminal of the given width.
func widthOfNames(width int) int {
	if width == 0 || width >= wideEnough {
		return listArmWidth
	}
	return armWidth
}

func outcomeWord(r coleo.Run) string {
	switch {
	case r.Open:
		return "open"
	case r.Outcome == "":
		return "unknown" // this is the case if the arm was removed before the run ended
	}
	return string(r.Outcome)
}

func outcomeColour(r coleo.Run) show.Colour {
	switch r.Outcome {
	case coleo.OutcomeFinished:
		return show.Green
	case coleo.OutcomeFailed, coleo.OutcomeDied:
		return show.Red
	case coleo.OutcomeInterrupted, coleo.OutcomeUnproven, coleo.OutcomeAsks:
		return show.Yellow
	}
	if r.Open {
		return show.Cyan
	}
	return show.Plain
}

// durationOf returns how long a run took. If the run has not ended, durationOf returns its duration
// so far.
func durationOf(r coleo.Run, now time.Time) string {
	switch {
	case r.Started.IsZero():
		return "-"
	case r.Open:
		return show.Since(r.Started, now)
	case r.Ended.IsZero():
		return "-"
	}
	return show.Since(r.Started, r.Ended)
}

// callsText returns the number of a run's calls. If some calls were denied or failed, it adds their
// number.
func callsText(r coleo.Run) string {
	text := fmt.Sprint(r.Calls)
	if bad := r.Denied + r.Failed; bad > 0 {
		text += fmt.Sprintf(" (%d bad)", bad)
	}
	return text
}

func promptOf(r coleo.Run) string {
	if r.Compact {
		return "(shortens the conversation)"
	}
	return show.OrDash(cut(plain(r.Prompt), promptWidth))
}
