package run

import (
	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// tailKinds contains the kinds of events that arm tail prints: what the user, the model and the
// agent CLI say, do and ask.
var tailKinds = []string{
	string(coleo.EventRunStart), string(coleo.EventAssistantText), string(coleo.EventToolStart),
	string(coleo.EventToolEnd), string(coleo.EventShellInput), string(coleo.EventShellOutput),
	string(coleo.EventDecision), string(coleo.EventSuspension), string(coleo.EventAnswered),
	string(coleo.EventPromptLost), string(coleo.EventError), string(coleo.EventRunEnd),
}

// TailCommand returns the verb "arm tail".
func TailCommand() *cobra.Command {
	f := eventFlags{follow: true}
	var all bool
	c := &cobra.Command{
		Use:   "tail [NAME]",
		Short: "Follow what an arm says and does, one line for each event",
		Long: `Follow what an arm says and does: prompts, answers, calls of tools, dialogs, questions
and the ends of runs, one line for each. Without NAME, follow all arms. This begins
with the next event, and waits for a serve that has ended.

--all prints every kind of event. --filter chooses kinds; docs/api.md lists them.
'coleo run events' also prints earlier events.`,
		Example: `  coleo arm tail fix
  coleo arm tail --filter tool_call_start,tool_call_end`,
		Args: verb.AtMost(1, "the name of an arm, or nothing"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(args) == 1 {
				f.arm = args[0]
			}
			switch {
			case all && len(f.kinds) > 0:
				return coleo.Errorf(coleo.EInvalid, "--all and --filter contradict each other: give one of them")
			case !all && len(f.kinds) == 0:
				f.kinds, f.dialogs = tailKinds, true
			}
			p, err := newPrinter(c, client, f, nil)
			if err != nil {
				return err
			}
			return p.run(c.Context())
		}),
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "print every kind of event")
	c.Flags().StringSliceVarP(&f.kinds, "filter", "f", nil, "`KINDS` of events, separated by commas")
	c.Flags().StringVar(&f.from, "from", "now", "print the events after `CURSOR`, or from now on")
	return c
}
