package rules

import (
	"fmt"
	"strings"

	"coleo.dev/pty"
)

// KeySequence returns the bytes of named keys, one element per write. Blanks separate the
// writes, + joins keys into one write, and a single character stands for itself.
// "y+ENTER" is one write; "ESCAPE ESCAPE" is two.
func KeySequence(names string) ([][]byte, error) {
	var out [][]byte
	for group := range strings.FieldsSeq(names) {
		var keys []byte
		for name := range strings.SplitSeq(group, "+") {
			key, ok := pty.Key(name)
			if !ok && len(name) != 1 {
				return nil, fmt.Errorf("%q is not a key", name)
			}
			if !ok {
				key = []byte(name)
			}
			keys = append(keys, key...)
		}
		out = append(out, keys)
	}
	return out, nil
}
