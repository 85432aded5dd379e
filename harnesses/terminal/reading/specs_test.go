package reading

import (
	"testing"

	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
)

// specFor returns the Spec of the agent CLI of a recording, or of a folder of recordings.
func specFor(t testing.TB, folder string) *rules.Spec {
	t.Helper()
	spec, err := rules.ParseSpec(casttest.Description(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}
