package coleo

import (
	"fmt"
	"math/rand/v2"
)

// Halves of the names that arms get when nobody names them: things of the sea
// floor and of its light.
var (
	nameHeads = []string{"amber", "azure", "coral", "dusk", "ember", "foam", "glass", "ink", "jade", "kelp", "lunar", "moss", "neon", "opal", "pearl", "reef", "salt", "tide", "umbra", "wave"}
	nameTails = []string{"anchor", "beak", "crest", "drift", "eddy", "fin", "grotto", "hollow", "isle", "jet", "knot", "lagoon", "mantle", "nook", "otter", "polyp", "ripple", "shoal", "trench", "whorl"}
)

// nameTries is how many names are tried before a number is added.
const nameTries = 40

// NewName makes up a name for an arm that is not taken.
func NewName(taken func(name string) bool) string {
	for try := 0; ; try++ {
		name := nameHeads[rand.IntN(len(nameHeads))] + "-" + nameTails[rand.IntN(len(nameTails))]
		if try >= nameTries {
			name = fmt.Sprintf("%s-%d", name, rand.IntN(1000))
		}
		if !taken(name) {
			return name
		}
	}
}
