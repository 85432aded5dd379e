package rules

import (
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// builtinSpec returns the Spec of the agent CLI of a recording, or of a folder of recordings.
func builtinSpec(t testing.TB, folder string) *Spec {
	t.Helper()
	spec, err := ParseSpec(casttest.Description(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// readAs returns the verdict of an agent CLI's Spec on a screen.
func readAs(t *testing.T, agent string, screen coleo.Screen) Verdict {
	t.Helper()
	spec := builtinSpec(t, agent)
	return spec.Read(NewPicture(screen, &spec.Composer))
}
