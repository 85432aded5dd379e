// Package trigger contains the verbs "schedule" and "webhook". They manage triggers, which start
// arms without a person.
package trigger

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/template"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// Commands returns the verbs "schedule" and "webhook".
func Commands() []*cobra.Command {
	schedule := verb.Group("schedule", "Start arms at times that you choose")
	schedule.AddCommand(newAddCommand(), newListCommand(trigger.Schedule), newShowCommand(trigger.Schedule),
		newRemoveCommand(trigger.Schedule), newRunNowCommand(), newHistoryCommand(trigger.Schedule))
	webhook := verb.Group("webhook", "Start arms by signed requests of programs on this machine")
	webhook.AddCommand(newCreateCommand(), newListCommand(trigger.Webhook), newShowCommand(trigger.Webhook),
		newRemoveCommand(trigger.Webhook), newHistoryCommand(trigger.Webhook))
	return []*cobra.Command{schedule, webhook}
}

// offNote is printed after a verb if triggers are switched off.
const offNote = "triggers are off: nothing starts before you set enabled = true below [triggers] in config.toml " +
	"and restart Coleo ('coleo down', 'coleo up')"

// common contains the flags that the verbs for a new trigger share.
type common struct {
	q    wire.TriggerRequest
	args []string // NAME=VALUE
}

func (f *common) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.q.Template, "template", "", "`NAME` of a template with a sandbox and a prompt")
	c.Flags().StringVarP(&f.q.Workdir, "workdir", "w", ".", "`FOLDER` in which the arms work")
	c.Flags().StringArrayVar(&f.args, "arg", nil, "argument of the template's prompt, as `NAME=VALUE`; repeatable")
	c.Flags().IntVar(&f.q.MaxArms, "max-arms", 0, "`NUMBER` of live arms at most, 1 to 20 (default 3)")
}

// add creates the trigger that the flags describe.
func (f *common) add(ctx context.Context, client *apiclient.Client, name string) (wire.NewTrigger, error) {
	var err error
	f.q.Name = name
	if f.q.Workdir, err = filepath.Abs(f.q.Workdir); err != nil {
		return wire.NewTrigger{}, err
	}
	if f.q.Args, err = template.ParseArgs(f.args); err != nil {
		return wire.NewTrigger{}, err
	}
	if f.q.Template == "" {
		return wire.NewTrigger{}, coleo.Errorf(coleo.EInvalid,
			"--template NAME is missing: 'coleo template list' lists the templates; nothing was added")
	}
	return client.AddTrigger(ctx, f.q)
}

func newAddCommand() *cobra.Command {
	var f common
	c := &cobra.Command{
		Use:   "add SCHEDULE --cron EXPRESSION --template TEMPLATE",
		Short: "Start an arm from a template again and again",
		Long: `Start an arm from a template whenever the time of a cron expression comes. The
template must have a sandbox and a prompt.

The five fields of EXPRESSION are minute, hour, day of the month, month and day of
the week. Words such as @daily work too. --zone is the time zone of these fields.

If serve does not run at such a time, the run is missed. 'coleo schedule list' and
'history' say how many were missed. With --catch-up, one run makes up for all that
were missed, as soon as serve runs again.`,
		Example: `  coleo schedule add nightly --cron '30 2 * * *' --zone Europe/Berlin --template review
  coleo schedule run-now nightly`,
		Args: verb.Exactly(1, "the name of the new schedule"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			f.q.Kind = trigger.Schedule
			made, err := f.add(c.Context(), client, args[0])
			if err != nil {
				return err
			}
			if !made.On {
				c.PrintErrln("coleo: note:", offNote)
			}
			return verb.Say(c, fmt.Sprintf("Added: %s, next on %s", made.Trigger.Name, nextWord(made.Trigger)), made)
		}),
	}
	f.addFlags(c)
	c.Flags().StringVar(&f.q.Cron, "cron", "", "`EXPRESSION` with five fields, or a word such as @daily")
	c.Flags().StringVar(&f.q.Zone, "zone", "UTC", "`NAME` of the time zone, such as Europe/Berlin")
	c.Flags().BoolVar(&f.q.CatchUp, "catch-up", false, "one run makes up for all that were missed")
	return c
}

// nextWord returns the next start time of a schedule, in the schedule's time zone.
func nextWord(t trigger.Trigger) string {
	if t.Next.IsZero() {
		return "-"
	}
	zone, err := time.LoadLocation(t.Zone)
	if err != nil {
		zone = time.UTC
	}
	return t.Next.In(zone).Format("2006-01-02 15:04 ") + t.Zone
}

// word returns the name of the verb for a kind of trigger.
func word(kind trigger.Kind) string { return string(kind) }

// ofKind returns all triggers of a kind.
func ofKind(ctx context.Context, client *apiclient.Client, kind trigger.Kind) (wire.Triggers, error) {
	all, err := client.Triggers(ctx)
	out := wire.Triggers{Triggers: []trigger.Trigger{}, On: all.On}
	for _, t := range all.Triggers {
		if t.Kind == kind {
			out.Triggers = append(out.Triggers, t)
		}
	}
	return out, err
}

// find returns the trigger of a kind with the given name. It returns ENotFound if there is none.
func find(ctx context.Context, client *apiclient.Client, kind trigger.Kind, name string) (trigger.Trigger, error) {
	all, err := ofKind(ctx, client, kind)
	for _, t := range all.Triggers {
		if t.Name == name {
			return t, nil
		}
	}
	if err == nil {
		err = coleo.Errorf(coleo.ENotFound, "there is no %s called %q: 'coleo %s list' lists them", word(kind), name,
			word(kind))
	}
	return trigger.Trigger{}, err
}

func newListCommand(kind trigger.Kind) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the " + word(kind) + "s",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, _ []string) error {
			all, err := ofKind(c.Context(), client, kind)
			if err != nil {
				return err
			}
			if !all.On && len(all.Triggers) > 0 {
				c.PrintErrln("coleo: note:", offNote)
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, all)
			}
			return printList(c, kind, all.Triggers)
		}),
	}
}

func printList(c *cobra.Command, kind trigger.Kind, all []trigger.Trigger) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(c.OutOrStdout(), "No %ss. See 'coleo %s --help'.\n", word(kind), word(kind))
		return err
	}
	w := show.NewTable(c)
	if kind == trigger.Schedule {
		fmt.Fprintln(w, "SCHEDULE\tCRON\tNEXT\tMISSED\tTEMPLATE\tARMS")
	} else {
		fmt.Fprintln(w, "WEBHOOK\tTEMPLATE\tARMS\tFOLDER")
	}
	for _, t := range all {
		arms := fmt.Sprintf("%d of %d", t.Live, t.MaxArms)
		if kind == trigger.Schedule {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", t.Name, t.Cron, nextWord(t), t.Missed, t.Template, arms)
		} else {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, t.Template, arms, t.Workdir)
		}
	}
	return w.Flush()
}

// nameUse returns how the help names the argument of a verb for one trigger.
func nameUse(kind trigger.Kind) string { return strings.ToUpper(word(kind)) }

// shownEntries is how many entries of the history the verb show prints.
const shownEntries = 5

func newShowCommand(kind trigger.Kind) *cobra.Command {
	return &cobra.Command{
		Use:   "show " + nameUse(kind),
		Short: "Show a " + word(kind) + ", and its newest entries",
		Args:  verb.Exactly(1, "the name of a "+word(kind)),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			t, err := find(c.Context(), client, kind, args[0])
			if err != nil {
				return err
			}
			entries, err := client.TriggerHistory(c.Context(), t.Name, 0, shownEntries)
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"trigger": t, "history": entries})
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, line := range triggerLines(t) {
				fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
			}
			if err := w.Flush(); err != nil || len(entries) == 0 {
				return err
			}
			fmt.Fprintln(c.OutOrStdout())
			return printHistory(c, entries)
		}),
	}
}

// triggerLines returns the rows that the verb show prints about a trigger.
func triggerLines(t trigger.Trigger) [][2]string {
	out := [][2]string{{"Name:", t.Name}, {"Template:", t.Template}, {"Folder:", t.Workdir},
		{"Arms:", fmt.Sprintf("%d live, at most %d ('coleo arm list -l %s=%s')", t.Live, t.MaxArms, trigger.Label, t.Name)}}
	if t.Kind == trigger.Schedule {
		catchUp := "no"
		if t.CatchUp {
			catchUp = "one run"
		}
		out = append(out, [2]string{"Cron:", t.Cron}, [2]string{"Next:", nextWord(t)},
			[2]string{"Missed:", fmt.Sprint(t.Missed)}, [2]string{"Catch up:", catchUp})
	}
	for _, key := range slices.Sorted(maps.Keys(t.Args)) {
		out = append(out, [2]string{"Argument " + key + ":", trigger.Quote(t.Args[key])})
	}
	return out
}

func newRemoveCommand(kind trigger.Kind) *cobra.Command {
	return &cobra.Command{
		Use:   "remove " + nameUse(kind),
		Short: "Remove a " + word(kind) + "; its arms continue",
		Args:  verb.Exactly(1, "the name of a "+word(kind)),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if _, err := find(c.Context(), client, kind, args[0]); err != nil {
				return err
			}
			if err := client.RemoveTrigger(c.Context(), args[0]); err != nil {
				return err
			}
			return verb.Say(c, "Removed: "+args[0], map[string]bool{"removed": true})
		}),
	}
}

func newRunNowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run-now SCHEDULE",
		Short: "Start an arm of a schedule that is not due",
		Args:  verb.Exactly(1, "the name of a schedule"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			e, err := client.RunTrigger(c.Context(), args[0])
			if err != nil {
				return err
			}
			return verb.Say(c, "Accepted: the arm "+e.ArmName+" starts", e)
		}),
	}
}
