package arm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/armname"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// mostNames is the largest number of names that arm names prints.
const mostNames = 100

// nameStats is the JSON output of arm names --stats.
type nameStats struct {
	Words int `json:"words"` // how many names of two words exist
	Taken int `json:"taken"` // how many names are taken: one by each arm
}

func newNamesCommand() *cobra.Command {
	var count int
	var stats bool
	c := &cobra.Command{
		Use:   "names",
		Short: "Print free names for arms",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, _ []string) error {
			if count < 1 || count > mostNames {
				return coleo.Errorf(coleo.EInvalid, "--count %d: give a number from 1 to %d", count, mostNames)
			}
			list, err := client.Arms(c.Context(), true)
			if err != nil {
				return err
			}
			if stats {
				s := nameStats{armname.Count(), len(list)}
				return verb.Say(c, fmt.Sprintf("%d names of two words; %d arms have a name", s.Words, s.Taken), s)
			}
			taken := map[string]bool{}
			for _, arm := range list {
				taken[arm.Name] = true
			}
			var names []string
			for range count {
				name := armname.New(func(name string) bool { return taken[name] })
				names, taken[name] = append(names, name), true
			}
			return verb.Say(c, strings.Join(names, "\n"), names)
		}),
	}
	c.Flags().IntVarP(&count, "count", "c", 10, "`NUMBER` of names, from 1 to 100")
	c.Flags().BoolVar(&stats, "stats", false, "print how many names there are, and how many arms")
	return c
}

// newCleanupCommand returns the verb that removes all stopped arms.
func newCleanupCommand() *cobra.Command {
	f := choice{stopped: true}
	c := &cobra.Command{
		Use:   "cleanup",
		Short: "Forget all stopped arms and delete their output",
		Long: `Forget all stopped arms and delete their output. This is the same as
'coleo arm remove --stopped'.

` + removeHelp,
		Args: verb.Exactly(0, "no arguments: 'coleo arm remove NAME' forgets one arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, _ []string) error {
			force := false
			remove := remove(&force)
			arms, err := remove.chosenArms(c.Context(), client, f, nil)
			if err != nil {
				return err
			}
			return printOutcomes(c, remove.each(c.Context(), client, arms))
		}),
	}
	selectorFlag(c, &f.selectors)
	return c
}

// freeName returns a random name that no other arm has.
func freeName(ctx context.Context, client *apiclient.Client) (string, error) {
	list, err := client.Arms(ctx, true)
	if err != nil {
		return "", err
	}
	return armname.New(func(name string) bool {
		return slices.ContainsFunc(list, func(arm coleo.Arm) bool { return arm.Name == name })
	}), nil
}
