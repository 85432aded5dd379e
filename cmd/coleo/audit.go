package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

func newAuditCommand() *cobra.Command {
	var f coleo.AuditFilter
	c := &cobra.Command{
		Use:   "audit [NAME]",
		Short: "List who gave which command, and the result",
		Long: `List who gave which command, and the result. The last row is the newest
command.

The list contains each command that changes something, such as a prompt or an
approval. With NAME, it contains only the commands for that arm.`,
		Args: verb.AtMost(1, "the name of an arm, or nothing"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(args) == 1 {
				f.Arm = args[0]
			}
			list, err := client.Audits(c.Context(), f)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"commands": list})
			}
			return printAudits(c, list)
		}),
	}
	c.Flags().IntVar(&f.Limit, "limit", 0, "maximum number of commands, 1 to 1000 (default 100)")
	c.Flags().Int64Var(&f.Before, "before", 0, "list only commands older than the command with this `ID`")
	return c
}

// printAudits prints the audit's records as a table, newest last.
func printAudits(c *cobra.Command, list []coleo.Audit) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "No commands yet.")
		return err
	}
	w := show.NewTable(c)
	fmt.Fprintln(w, "ID\tTIME\tWHO\tCOMMAND\tARM\tRESULT")
	for i := len(list) - 1; i >= 0; i-- {
		a := list[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.Time.Local().Format(time.DateTime), callerWord(a.Caller),
			a.Command, show.OrDash(a.Arm), resultWord(a))
	}
	return w.Flush()
}

func callerWord(c coleo.Caller) string {
	switch c.Kind {
	case coleo.CallerSocket:
		return fmt.Sprintf("user %d, %s (process %d)", c.UID, show.OrDash(c.Program), c.PID)
	case coleo.CallerCookie:
		return "browser " + c.ID
	case coleo.CallerToken:
		return "API token " + c.ID
	case coleo.CallerOperator:
		return "operator token " + c.ID
	}
	return "nobody that could be proven"
}

func resultWord(a coleo.Audit) string {
	switch {
	case a.Result == coleo.AuditOpen:
		return "open"
	case a.Error != "":
		line, _, _ := strings.Cut(a.Error, "\n")
		return string(a.Result) + ": " + line
	}
	return string(a.Result)
}
