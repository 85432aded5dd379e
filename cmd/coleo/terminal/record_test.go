package terminal

import (
	"testing"
	"time"

	"coleo.dev"
)

func TestMomentsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.FixedZone("here", 3600))
	for text, want := range map[string]string{
		"2026-02-28T23:59:59Z":         "2026-02-28T23:59:59Z",
		"2026-02-28T23:59:59.25+01:00": "2026-02-28T22:59:59.25Z",
		"07:59:59":                     "2026-03-01T06:59:59Z",
		"08:00:01":                     "2026-02-28T07:00:01Z",
		"-30s":                         "2026-03-01T06:59:30Z",
		"1h5m":                         "2026-03-01T05:55:00Z",
		"--30s":                        "", "soon": "", "": "", "25:00:00": "",
	} {
		got, err := parseMoment(text, now)
		if want == "" && coleo.ErrorCode(err) != coleo.EInvalid || want != "" &&
			(err != nil || got.UTC().Format(time.RFC3339Nano) != want) {
			t.Errorf("%q is %s (%v), want %q", text, got, err, want)
		}
	}
}
