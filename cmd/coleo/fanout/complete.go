package fanout

import (
	"context"
	"slices"

	"coleo.dev/cmd/coleo/setup"
)

// IDs returns the ids of the fan-outs that have arms, for completions in a shell.
func IDs(ctx context.Context, s setup.Setup) []string {
	client, err := s.Client()
	if err != nil {
		return nil
	}
	arms, err := client.Arms(ctx, true)
	if err != nil {
		return nil
	}
	var ids []string
	for _, arm := range headsOf(arms) {
		ids = append(ids, arm.Labels[label])
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ArgsOfKeep returns the completions for the next argument of "coleo fan-out keep". The last
// parameter contains the arguments that are already typed. The first argument is the id of a
// fan-out, and the second is the name of one of its arms. ArgsOfKeep returns nil if there is no
// further argument, or if serve does not answer.
func ArgsOfKeep(ctx context.Context, s setup.Setup, before []string) []string {
	if len(before) == 0 {
		return IDs(ctx, s)
	}
	client, err := s.Client()
	if err != nil || len(before) > 1 {
		return nil
	}
	heads, _, err := membersOf(ctx, client, before[0])
	if err != nil {
		return nil
	}
	var names []string
	for _, arm := range heads {
		names = append(names, arm.Name)
	}
	return names
}
