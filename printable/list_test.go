package printable_test

import (
	"testing"

	"coleo.dev/printable"
)

// word is a string type, like coleo.State.
type word string

func TestList(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]word{
		"nothing":              nil,
		"idle":                 {"idle"},
		"idle and error":       {"idle", "error"},
		"idle, error and dead": {"idle", "error", "dead"},
	} {
		if got := printable.List(words); got != want {
			t.Errorf("List(%q) = %q, want %q", words, got, want)
		}
	}
}
