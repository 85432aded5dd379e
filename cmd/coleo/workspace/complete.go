package workspace

import (
	"context"
	"slices"

	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/workspace"
)

// Names returns the names of the arms that have or had a worktree, for completions in a shell.
func Names(_ context.Context, s setup.Setup) []string {
	all, err := worktrees.Of(s).List()
	if err != nil {
		return nil
	}
	return namesOf(all, func(w workspace.Workspace) string { return w.Name })
}

// KeptNames returns the names of the arms whose worktrees were kept under a ref, for completions in a shell.
func KeptNames(ctx context.Context, s setup.Setup) []string {
	all, err := worktrees.Of(s).Kept(ctx)
	if err != nil {
		return nil
	}
	return namesOf(all, func(k workspace.Kept) string { return k.Name })
}

// namesOf returns the names of the things in the list, sorted and without duplicates.
func namesOf[T any](all []T, name func(T) string) []string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
