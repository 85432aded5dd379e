package arm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// bulkAtOnce is the number of arms that a verb works on at the same time. Four has two advantages:
// a slow arm delays only a few other arms, and even a small machine can start four arms at the same
// time.
const bulkAtOnce = 4

// bulkHelp is the help that all verbs for several arms share.
const bulkHelp = `Name one arm or several, or choose them with --all, --stopped, --host, --harness
and --selector. An arm must match all filters that you give. Coleo works on four
arms at a time. A verb that only waits does so for all arms at once. A table shows
the result for each arm. The exit code is 0 if everything succeeded, or if no arm
matches.

--selector takes conditions on labels, separated by commas: KEY=VALUE, KEY!=VALUE,
KEY (the arm has the key) and '!KEY' (it lacks the key). An arm must meet all.`

// bulk describes a verb for several arms.
type bulk struct {
	name, short, long string
	// appliesTo reports whether the filters may select this arm for the verb. With --stopped,
	// appliesTo is not called, and all stopped arms are selected.
	appliesTo func(coleo.Arm) bool
	do        func(ctx context.Context, client *apiclient.Client, arm target) (line string, result any, err error)
	// If together is true, the verb works on all arms at the same time. This is for verbs that
	// only wait.
	together bool
}

// target is an arm that a verb works on. If a filter has chosen the arm, `id` is the arm's id, because the arm's name
// can change before the verb reaches the arm. Without a filter, both fields contain what the user has written.
type target struct{ id, name string }

// lasting returns the arm with the given name as a target with its id. The id stays the same if the arm is renamed,
// or if another arm gets its name. If serve does not answer or has no such arm, the id is the name itself, so that
// the verb's next request reports the error.
func lasting(ctx context.Context, client *apiclient.Client, name string) target {
	arm, err := client.Arm(ctx, name)
	if err != nil {
		return target{name, name}
	}
	return target{arm.ID, name}
}

// choice contains the filters that select arms. The user gives either filters or the names of arms.
type choice struct {
	all, stopped  bool
	host, harness string
	selectors     []string       // the label selectors as the user has written them
	selector      coleo.Selector // the parsed selectors
}

func (f choice) isSet() bool {
	return f.all || f.stopped || f.host != "" || f.harness != "" || len(f.selectors) > 0
}

func (f choice) includes(arm coleo.Arm) bool {
	return (!f.stopped || arm.Status == coleo.StatusStopped) &&
		(f.host == "" || f.host == arm.AgentID || f.host == arm.Host) &&
		(f.harness == "" || f.harness == arm.Harness) && f.selector.Selects(arm.Labels)
}

// outcome is the result of a verb for one arm.
type outcome struct {
	Arm    string       `json:"arm"`
	Done   bool         `json:"done"`
	Result any          `json:"result,omitempty"`
	Error  *coleo.Error `json:"error,omitempty"`
	line   string
}

func bulkCommand(b bulk) *cobra.Command {
	var f choice
	c := &cobra.Command{
		Use:   b.name + " NAME...",
		Short: b.short,
		Long:  b.short + ".\n\n" + b.long + "\n\n" + bulkHelp,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && !f.isSet():
				return coleo.Errorf(coleo.EInvalid,
					"%s takes the name of an arm, several names, or --all (see %s --help)",
					c.CommandPath(), c.CommandPath())
			case len(args) > 0 && f.isSet():
				return coleo.Errorf(coleo.EInvalid,
					"%s takes names or filters, not both: nothing was done", c.CommandPath())
			}
			return nil
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(args) == 1 {
				done := sayWaiting(c, client, args[0])
				line, result, err := b.do(c.Context(), client, target{args[0], args[0]})
				if done(); err != nil {
					return err
				}
				return verb.Say(c, line, result)
			}
			arms, err := b.chosenArms(c.Context(), client, f, args)
			if err != nil {
				return err
			}
			return printOutcomes(c, b.each(c.Context(), client, arms))
		}),
	}
	c.Flags().BoolVar(&f.all, "all", false, "choose all arms that this verb applies to")
	c.Flags().BoolVar(&f.stopped, "stopped", false, "choose stopped arms")
	c.Flags().StringVar(&f.host, "host", "", "choose arms of this host agent (`ID` or host name)")
	c.Flags().StringVar(&f.harness, "harness", "", "choose arms with the harness of this `NAME`")
	selectorFlag(c, &f.selectors)
	return c
}

// selectorFlag adds the flag that chooses arms by their labels.
func selectorFlag(c *cobra.Command, to *[]string) {
	c.Flags().StringArrayVarP(to, "selector", "l", nil, "choose arms by `CONDITIONS` on labels: k=v,k2!=v2,k3,!k4")
}

// chosenArms returns the chosen arms in the alphabetical order of their names, each arm once.
func (b bulk) chosenArms(ctx context.Context, client *apiclient.Client, f choice, args []string) ([]target, error) {
	var arms []target
	if !f.isSet() {
		slices.Sort(args)
		for _, name := range slices.Compact(args) {
			arms = append(arms, target{name, name})
		}
		return arms, nil
	}
	var err error
	if f.selector, err = coleo.ParseSelector(f.selectors); err != nil {
		return nil, err
	}
	list, err := client.Arms(ctx, true)
	if err != nil {
		return nil, err
	}
	for _, arm := range list {
		if f.includes(arm) && (f.stopped || b.appliesTo(arm)) {
			arms = append(arms, target{arm.ID, arm.Name})
		}
	}
	slices.SortFunc(arms, func(a, b target) int { return strings.Compare(a.name, b.name) })
	return arms, nil
}

// each runs the verb on each arm, and returns the outcomes in the order of the names. It works on at most
// bulkAtOnce arms at the same time or, if `together` is true, on all of them.
func (b bulk) each(ctx context.Context, client *apiclient.Client, arms []target) []outcome {
	out := make([]outcome, len(arms))
	atOnce := bulkAtOnce
	if b.together {
		atOnce = max(1, len(arms))
	}
	turn := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, arm := range arms {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			line, result, err := b.do(ctx, client, arm)
			out[i] = outcome{Arm: arm.name, Done: err == nil, Result: result, line: line}
			if err == nil {
				return
			}
			out[i].Result = nil
			if !errors.As(err, &out[i].Error) {
				out[i].Error = coleo.Errorf(coleo.EInternal, "%v", err)
			}
		})
	}
	all.Wait()
	return out
}

// printOutcomes prints the outcome for each arm. If the verb failed for some arms, printOutcomes
// returns an Exit error. If all failures have the same exit code, the error has this code.
// Otherwise the error has the code 1.
func printOutcomes(c *cobra.Command, list []outcome) error {
	code := 0
	for _, o := range list {
		if o.Error == nil {
			continue
		}
		one := verb.ExitCode(o.Error.Code)
		if code != 0 && code != one {
			one = 1
		}
		code = one
	}
	if err := writeOutcomes(c, list); err != nil {
		return err
	}
	if code != 0 {
		return verb.Exit(code)
	}
	return nil
}

func writeOutcomes(c *cobra.Command, list []outcome) error {
	if verb.WantsJSON(c) {
		if list == nil {
			list = []outcome{}
		}
		return verb.PrintJSON(c, map[string]any{"arms": list})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "No arm matches: nothing was done.")
		return err
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ARM\tDONE\tRESULT")
	for _, o := range list {
		word, what := "yes", o.line
		if o.Error != nil {
			word, what = "no", verb.Shown(o.Error.Message)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", o.Arm, word, oneRow(what))
	}
	return w.Flush()
}

// oneRow replaces the line ends in a text, so that the text fits into one row of a table.
func oneRow(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "; ")
}
