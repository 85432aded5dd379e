package git

import (
	"maps"
	"slices"
	"time"
)

// Commands returns the commands that may run.
func Commands() []string { return slices.Sorted(maps.Keys(commands)) }

// LookingForPipesAfter returns a Program that looks for pipes after the given time.
func (p Program) LookingForPipesAfter(d time.Duration) Program {
	p.pipesAfter = d
	return p
}

// PipeIn returns the path of a pipe in place of a file that git reads below a folder, or "".
var PipeIn = pipeIn
