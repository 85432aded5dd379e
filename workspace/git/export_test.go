package git

import (
	"maps"
	"slices"
	"time"
)

// Commands returns the commands that may run.
func Commands() []string { return slices.Sorted(maps.Keys(commands)) }

// LookingForPipesAfter returns a Program that looks for pipes after another time.
func (p Program) LookingForPipesAfter(d time.Duration) Program {
	p.pipesAfter = d
	return p
}

// PipeIn returns the pipe in place of a file that git reads below a folder, or "".
var PipeIn = pipeIn
