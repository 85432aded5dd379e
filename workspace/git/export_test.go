package git

import (
	"maps"
	"slices"
)

// Commands returns the commands that may run.
func Commands() []string { return slices.Sorted(maps.Keys(commands)) }
