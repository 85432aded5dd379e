package arm

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/armname"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/printable"
)

// armOrders maps each value of --sort to its comparison function.
var armOrders = map[string]func(a, b coleo.Arm) int{
	"need":    func(a, b coleo.Arm) int { return cmp.Compare(needRank(a), needRank(b)) },
	"name":    func(coleo.Arm, coleo.Arm) int { return 0 }, // all arms are equal in this order, so that their names decide
	"age":     func(a, b coleo.Arm) int { return b.LastOutputAt.Compare(a.LastOutputAt) },
	"cost":    func(a, b coleo.Arm) int { return cmp.Compare(b.TotalCost, a.TotalCost) },
	"harness": func(a, b coleo.Arm) int { return strings.Compare(a.Harness, b.Harness) },
}

func needRank(arm coleo.Arm) int {
	need, _ := arm.Need()
	return slices.Index(coleo.Needs(), need)
}

// needFlag returns a need in the form in which the user writes it in a flag: with "-" instead of
// blanks.
func needFlag(n coleo.Need) string { return strings.ReplaceAll(string(n), " ", "-") }

// picker returns a function that filters and sorts arms as the flags require. The function sorts
// equal arms by name. picker returns EInvalid if a flag has a bad value.
func (f listFlags) picker() (func([]coleo.Arm) []coleo.Arm, error) {
	order, ok := armOrders[f.sort]
	if !ok {
		return nil, coleo.Errorf(coleo.EInvalid, "--sort=%s: sort by need, name, age, cost or harness", f.sort)
	}
	selector, err := coleo.ParseSelector(f.selectors)
	if err != nil {
		return nil, err
	}
	for _, word := range f.states {
		if err := checkStateWord(word); err != nil {
			return nil, err
		}
	}
	return func(list []coleo.Arm) []coleo.Arm {
		rows := slices.DeleteFunc(slices.Clone(list), func(arm coleo.Arm) bool {
			return !selector.Selects(arm.Labels) || !f.picks(arm)
		})
		slices.SortFunc(rows, func(a, b coleo.Arm) int {
			if c := order(a, b); c != 0 {
				return c
			}
			if armname.Less(a.Name, b.Name) {
				return -1
			}
			return 1
		})
		return rows
	}, nil
}

func checkStateWord(word string) error {
	isNeed := slices.ContainsFunc(coleo.Needs(), func(n coleo.Need) bool { return needFlag(n) == word })
	if isNeed || coleo.State(word).Valid() {
		return nil
	}
	var needs []string
	for _, n := range coleo.Needs() {
		needs = append(needs, needFlag(n))
	}
	return coleo.Errorf(coleo.EInvalid, "--state=%s: use %s, or one of the states %s", word, strings.Join(needs, ", "),
		printable.List(coleo.States()))
}

func (f listFlags) picks(arm coleo.Arm) bool {
	need, _ := arm.Need()
	asked := slices.Contains(f.states, needFlag(need)) || slices.Contains(f.states, string(arm.State))
	switch {
	case len(f.states) > 0 && !asked:
		return false
	case len(f.harnesses) > 0 && !slices.Contains(f.harnesses, arm.Harness):
		return false
	}
	return f.all || asked || need != coleo.NeedEnded
}

func newLabelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "label NAME [KEY=VALUE|KEY-]...",
		Short: "Change or print the labels of an arm",
		Long: `Change the labels of an arm: KEY=VALUE sets a label, and KEY- removes one. Without
changes, this prints the labels.

Labels select arms: see --selector of 'coleo arm list' and 'coleo arm kill'. Only a
person can change labels, because an operator token with labels reaches only the arms
that have these labels. The arm's host agent must be available. A key or value has 1 to
63 letters, digits, '.', '_', '/' or '-'. An arm has at most 16 labels.`,
		Example: `  coleo arm label fix team=payments urgent-`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm, and then changes", c.CommandPath())
			}
			return nil
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			change, err := coleo.ParseLabelChange(args[1:])
			if err != nil {
				return err
			}
			label := client.Label
			if len(args) == 1 {
				label = func(ctx context.Context, arm string, _ coleo.LabelChange) (coleo.Arm, error) {
					return client.Arm(ctx, arm)
				}
			}
			arm, err := label(c.Context(), args[0], change)
			if err != nil {
				return err
			}
			line := "Labels of " + arm.Name + ": " + arm.Labels.String()
			if len(arm.Labels) == 0 {
				line = arm.Name + " has no labels"
			}
			return verb.Say(c, line, arm)
		}),
	}
}
