// Package cost contains the verb that shows what models have cost.
package cost

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cost"
)

// Command returns the verb "cost".
func Command() *cobra.Command {
	var by, since string
	c := &cobra.Command{
		Use:   "cost [NAME]",
		Short: "Show what arms have cost, and how well that is known",
		Long: `Show what arms have cost in US dollars, and how well that is known. With NAME, this
shows that arm alone.

--by groups by arm, day, model, project, run and harness, separated by commas. The
project is the work folder, or the folder for which the arm's worktree was made.
--since is a time or an age, such as 2026-01-31 or 7d.

TOKENS shows where the numbers of tokens come from: from the model, through the agent
CLI's transcript or HTTP, or from an estimate of the agent CLI (~). PRICE shows where the
price comes from: agent (the agent CLI has reported what its calls cost), override
(your config.toml), refreshed, built-in or book. '+?' means that some tokens have no
price.

Subagents and side requests count if the agent CLI records their tokens. The last
lines say which calls are not counted, because the agent CLI does not report them.`,
		Args: verb.AtMost(1, "the name of an arm"),
		Example: `  coleo cost --by day,model --since 30d
  coleo cost fix --by run`,
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			keys, err := cost.ParseKeys(by)
			if err != nil {
				return err
			}
			from, err := parseSince(since, time.Now())
			if err != nil {
				return err
			}
			arm := strings.Join(args, "")
			report, err := client.Cost(c.Context(), arm, keys, from)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, report)
			}
			return printReport(c, keys, report)
		}),
	}
	c.Flags().StringVar(&by, "by", "arm", "`KEYS` to group by, separated by commas")
	c.Flags().StringVar(&since, "since", "", "count only usage since this `TIME`")
	return c
}

// parseSince parses a day, a time, or an age such as 12h or 7d. If the text is empty, it returns
// the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	return time.Time{}, coleo.Errorf(coleo.EInvalid,
		"--since %q: give a time such as 2026-01-31 or 2026-01-31T15:04:05Z, or "+
			"an age such as 12h or 7d", text)
}

func printReport(c *cobra.Command, keys []cost.Key, r cost.Report) error {
	if len(r.Rows) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "Nothing has been used.")
		return err
	}
	w := show.NewTable(c)
	for _, key := range keys {
		fmt.Fprintf(w, "%s\t", strings.ToUpper(string(key)))
	}
	fmt.Fprintln(w, "COST\tCALLS\tINPUT\tCACHED\tOUTPUT\tTOKENS\tPRICE")
	for _, row := range r.Rows {
		for _, key := range keys {
			value := row.By[key]
			if value == "" {
				value = "-"
			}
			fmt.Fprintf(w, "%s\t", value)
		}
		fmt.Fprintln(w, cells(row.Amount))
	}
	if len(r.Rows) > 1 {
		fmt.Fprintf(w, "total%s%s\n", strings.Repeat("\t", len(keys)), cells(r.Total))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, u := range r.Uncounted {
		fmt.Fprintf(c.OutOrStdout(), "not counted: %s of %s\n", u.Calls, u.Harness)
	}
	return nil
}

func cells(a cost.Amount) string {
	dollars := fmt.Sprintf("$%.4f", a.Dollars)
	if a.Unpriced > 0 {
		dollars += "+?"
	}
	from := strings.Join(a.TokensFrom, ",")
	if a.Estimated > 0 {
		from += " ~"
	}
	var prices []string
	for _, source := range slices.Sorted(maps.Keys(a.Parts)) {
		prices = append(prices, string(source))
	}
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%s\t%s", dollars, a.Calls, a.Input, a.Cached, a.Output, from,
		strings.Join(prices, ","))
}
