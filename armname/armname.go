// Package armname says which names an arm can have, and in which order people sort them. It also
// invents names for arms that get none.
package armname

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"coleo.dev"
)

// maxArmName is the maximum length of an arm's name, in bytes. Ids of host agents have the same
// maximum, because they become parts of the bus's subjects.
const maxArmName = 63

// Check returns coleo.EInvalid if a text cannot be the name of an arm. The name of an arm
// has 1 to 63 characters: letters, digits, '.', '_' and '-'. It starts with a letter or digit.
func Check(name string) error {
	ok := name != "" && len(name) <= maxArmName
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		ok = ok && (letter || i > 0 && (c == '.' || c == '_' || c == '-'))
	}
	if !ok {
		return coleo.Errorf(coleo.EInvalid,
			"%q cannot name an arm: use 1 to 63 letters, digits, '.', '_' or '-', beginning with a letter or digit",
			name)
	}
	return nil
}

// nameHeads and nameTails contain the first and second words of generated names for arms. The words
// describe things on the sea floor, and the light there.
var (
	nameHeads = []string{"amber", "azure", "coral", "dusk", "ember", "foam", "glass", "ink", "jade", "kelp", "lunar",
		"moss", "neon", "opal", "pearl", "reef", "salt", "tide", "umbra", "wave"}
	nameTails = []string{"anchor", "beak", "crest", "drift", "eddy", "fin", "grotto", "hollow", "isle", "jet", "knot",
		"lagoon", "mantle", "nook", "otter", "polyp", "ripple", "shoal", "trench", "whorl"}
)

// nameTries is the number of names that New tries before it adds numbers to names. If 40 random
// names are taken, most names are taken.
const nameTries = 40

// Count returns the number of possible two-word names.
func Count() int { return len(nameHeads) * len(nameTails) }

// New returns a random arm name for which `taken` returns false.
func New(taken func(name string) bool) string {
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

// Less reports whether the name a comes before the name b in natural order: arm-2 comes
// before arm-10.
func Less(a, b string) bool {
	for a != "" && b != "" {
		digitsA, digitsB := leadingDigits(a), leadingDigits(b)
		if digitsA == 0 || digitsB == 0 {
			if a[0] != b[0] {
				return a[0] < b[0]
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:digitsA], "0"), strings.TrimLeft(b[:digitsB], "0")
		if len(x) != len(y) {
			return len(x) < len(y)
		}
		if x != y {
			return x < y
		}
		if digitsA != digitsB { // of two equal numbers, the one with more leading zeros comes later
			return digitsA < digitsB
		}
		a, b = a[digitsA:], b[digitsB:]
	}
	return len(a) < len(b)
}

// leadingDigits returns the number of digits at the start of s.
func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
