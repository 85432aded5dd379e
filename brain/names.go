package brain

import (
	"context"
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

// freeName makes up a name that no arm has.
func (b *Brain) freeName(ctx context.Context) (string, error) {
	list, err := b.DB.Arms(ctx, true)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, arm := range list {
		taken[arm.Name] = true
	}
	for try := 0; ; try++ {
		name := nameHeads[rand.IntN(len(nameHeads))] + "-" + nameTails[rand.IntN(len(nameTails))]
		if try >= nameTries {
			name += "-" + string(rune('0'+rand.IntN(10))) + string(rune('0'+rand.IntN(10)))
		}
		if !taken[name] {
			return name, nil
		}
	}
}
