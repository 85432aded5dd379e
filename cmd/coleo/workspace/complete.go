package workspace

import (
	"context"
	"slices"

	"coleo.dev/cmd/coleo/setup"
)

// Names returns the names of the arms that have or had a worktree, for completions in a shell.
func Names(_ context.Context, s setup.Setup) []string {
	all, err := s.Worktrees().List()
	if err != nil {
		return nil
	}
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// KeptNames returns the names of the arms whose worktrees were kept under a ref, for completions in a shell.
func KeptNames(ctx context.Context, s setup.Setup) []string {
	all, err := s.Worktrees().Kept(ctx)
	if err != nil {
		return nil
	}
	var names []string
	for _, k := range all {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
