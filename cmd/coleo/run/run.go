// Package run contains the verbs of coleo run. They print runs, the events of one run, and the events of all
// arms.
package run

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wire"
)

// Command returns the verb "run" with the verbs below it.
func Command() *cobra.Command {
	c := verb.Group("run", "List runs, and follow what agent CLIs do in them")
	c.AddCommand(newListCommand(), newShowCommand(), newEventsCommand())
	return c
}

// shortID is how many characters of a run's id the verbs print. Two runs very rarely share such a
// beginning. If they do, the verbs ask for more of the id.
const shortID = 8

func short(id string) string { return id[:min(len(id), shortID)] }

// offered is the number of runs whose ids IDs returns. A shell does not show more at once.
const offered = 20

// IDs returns the shortened ids of the newest runs, for completions in a shell.
func IDs(ctx context.Context, s setup.Setup) (out []string) {
	client, err := s.Client()
	if err != nil {
		return nil
	}
	list, _, err := client.Runs(ctx, wire.RunFilter{Limit: offered})
	if err != nil {
		return nil
	}
	for _, r := range list {
		out = append(out, cobra.CompletionWithDesc(short(r.ID), r.ArmName+": "+cut(plain(r.Prompt), promptWidth)))
	}
	return out
}

// KindNames returns the kinds of events, for completions in a shell.
func KindNames(context.Context, setup.Setup) (out []string) {
	for _, kind := range coleo.EventKinds() {
		out = append(out, string(kind))
	}
	slices.Sort(out)
	return out
}

// OutcomeNames returns the values of the flag --outcome, for completions in a shell.
func OutcomeNames(context.Context, setup.Setup) (out []string) {
	for _, o := range []coleo.Outcome{coleo.OutcomeOpen, coleo.OutcomeFinished, coleo.OutcomeFailed,
		coleo.OutcomeInterrupted, coleo.OutcomeDied, coleo.OutcomeUnproven} {
		out = append(out, string(o))
	}
	return out
}
