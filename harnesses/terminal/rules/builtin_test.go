package rules

import (
	"testing"

	"coleo.dev/harnesses/terminal/casttest"
)

// builtinSpec returns the Spec of the agent CLI that a folder of recordings is of, or a
// recording.
func builtinSpec(t testing.TB, folder string) *Spec {
	t.Helper()
	spec, err := ParseSpec(casttest.Description(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}
