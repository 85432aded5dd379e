package trigger

import (
	"context"

	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/trigger"
)

// Kinds contains the kinds of triggers. Each kind is also the name of its verb.
var Kinds = []trigger.Kind{trigger.Schedule, trigger.Webhook}

// Names returns the names of the schedules or of the webhooks, for completions in a shell.
func Names(ctx context.Context, s setup.Setup, kind trigger.Kind) []string {
	client, err := s.Client()
	if err != nil {
		return nil
	}
	all, err := ofKind(ctx, client, kind)
	if err != nil {
		return nil
	}
	var names []string
	for _, t := range all.Triggers {
		names = append(names, t.Name)
	}
	return names
}
