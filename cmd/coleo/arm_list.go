package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
)

func newArmListCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the arms",
		Args:  exactly(0, "no arguments"),
		RunE: withClient(func(c *cobra.Command, client *api.Client, _ []string) error {
			list, err := client.Arms(c.Context(), all)
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printJSON(c, map[string]any{"arms": list})
			}
			return printArms(c, list, all, time.Now())
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "stopped ones too")
	return c
}

func printArms(c *cobra.Command, list []coleo.Arm, all bool, now time.Time) error {
	var rows []coleo.Arm
	for _, arm := range list {
		if all || arm.Status != coleo.StatusStopped {
			rows = append(rows, arm)
		}
	}
	if len(rows) == 0 {
		word := "No active arms."
		if len(list) == 0 {
			word = "No arms registered."
		}
		_, err := fmt.Fprintln(c.OutOrStdout(), word)
		return err
	}
	var table strings.Builder // written at once: no sequence is cut in two
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "NAME\tHARNESS\t%s\t%s\tHEALTH\tLAST OUTPUT\tTASK\tWORKDIR\n", plain.paint("DISPLAY"), plain.paint("STATE"))
	for _, arm := range rows {
		word := display(arm)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", arm.Name, arm.Harness,
			displayColour(word).paint(word), stateColour(arm.State).paint(stateWord(arm)+asOf(arm, now)), healthWord(arm.Runtime),
			since(arm.LastOutputAt, now), orDash(arm.CurrentTaskSubject), arm.Workdir)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(painted(c), table.String())
	return err
}

// display is the one word of `arm list` (spec section 2).
func display(arm coleo.Arm) string {
	switch arm.Runtime.State {
	case coleo.HealthHung, coleo.HealthRecoverable, coleo.HealthStopped, coleo.HealthUnknown, coleo.HealthBlocked:
		return "Stuck"
	case coleo.HealthStarting, coleo.HealthActive, coleo.HealthQuiet:
	}
	switch arm.Status {
	case coleo.StatusError:
		return "Stuck"
	case coleo.StatusBusy, coleo.StatusRunning, coleo.StatusStarting:
		return "Busy"
	case coleo.StatusIdle, coleo.StatusPaused, coleo.StatusPlanningBlocked, coleo.StatusStopped:
	}
	if arm.Runtime.State == coleo.HealthActive {
		return "Busy"
	}
	return "Idle"
}

// healthWord names the health, and of an arm that stands still the reason in short.
func healthWord(r coleo.Runtime) string {
	if r.State != coleo.HealthBlocked {
		return string(r.State)
	}
	short, _, _ := strings.Cut(r.Reason, ": ")
	return string(r.State) + ": " + short
}

func stateWord(arm coleo.Arm) string {
	if arm.Dialog != nil {
		return "waiting_approval: " + arm.Dialog.Title
	}
	return string(arm.State)
}

// asOf says how old a state is that nobody watches, "" for one that is watched,
// or that its agent CLI is stopped.
func asOf(arm coleo.Arm, now time.Time) string {
	switch r := arm.Runtime; {
	case r.Stale && r.AsOf.IsZero():
		return " (nobody watches it)"
	case r.Stale:
		return " (as of " + since(r.AsOf, now) + " ago)"
	case r.Frozen:
		return " (stopped by a signal)"
	}
	return ""
}

func since(t, now time.Time) string {
	if t.IsZero() || now.Before(t) {
		return "n/a"
	}
	return coleo.Age(now.Sub(t))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func newArmStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status NAME",
		Short: "Tell everything about one arm",
		Args:  exactly(1, "the name of an arm"),
		RunE: withClient(func(c *cobra.Command, client *api.Client, args []string) error {
			arm, err := client.Arm(c.Context(), args[0])
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printJSON(c, arm)
			}
			_, err = fmt.Fprintln(painted(c), statusText(arm, time.Now()))
			return err
		}),
	}
}

func statusText(arm coleo.Arm, now time.Time) string {
	r := arm.Runtime
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%-16s %v\n", name+":", value) }
	line("Arm", arm.Name)
	line("Status", arm.Status)
	line("State", fmt.Sprintf("%s (rule %s)%s", stateColour(arm.State).paint(string(arm.State)), orDash(arm.Rule), asOf(arm, now)))
	line("Harness", arm.Harness)
	line("Model", orDash(strings.Trim(arm.Provider+"/"+arm.Model, "/")))
	line("Workdir", arm.Workdir)
	line("Host", orDash(arm.Host))
	line("Process", arm.PID)
	line("Session", orDash(arm.SessionID))
	line("Generation", arm.Generation)
	if arm.Dialog != nil {
		line("Asks", arm.Dialog.Title)
		line("Subject", strings.ReplaceAll(arm.Dialog.Subject, "\n", " ⏎ "))
		if arm.Dialog.Truncated {
			line("", cutOff)
		}
		line("Options", strings.Join(arm.Dialog.Options, " | "))
	}
	b.WriteString("Runtime summary:\n")
	line("  State", r.State)
	line("  Reason", r.Reason)
	line("  Last output", ago(r.SecondsSinceOutput))
	line("  Last heartbeat", ago(r.SecondsSinceHeartbeat))
	line("  Last activity", ago(r.SecondsSinceActivity))
	line("  Can recover", yes(r.CanRecover))
	g := r.Signals
	fmt.Fprintf(&b, "Signals: status %s, pid %s, port %s, session %s, agent %s, workdir %s, task %s", g.DBStatus,
		yes(g.HasPID), yes(g.HasPort), yes(g.HasSessionID), yes(g.HasAgentID), yes(g.HasWorkdir), yes(g.HasAssignedTask))
	return b.String()
}

func ago(seconds *int) string {
	if seconds == nil {
		return "n/a"
	}
	return coleo.Age(time.Duration(*seconds)*time.Second) + " ago"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
