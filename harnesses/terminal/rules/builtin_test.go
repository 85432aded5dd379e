package rules

import (
	"testing"

	"coleo.dev"
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

// readAs returns what the Spec of an agent CLI says of a screen.
func readAs(t *testing.T, agent string, screen coleo.Screen) Verdict {
	t.Helper()
	spec := builtinSpec(t, agent)
	return spec.Read(NewPicture(screen, &spec.Composer))
}
