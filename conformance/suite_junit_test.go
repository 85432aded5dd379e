package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheJUnitReportContainsTheResults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.xml")
	report := Report{Harness: "fake", Results: []Result{
		{Name: "good", Pass: true, Details: "it went well", Seconds: 1.5},
		{Name: "bad", Details: "it went wrong"},
		{Name: "left", Pass: true, Skipped: true, Details: "Skipped: not for it"},
	}}
	if err := WriteJUnit(path, report); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<testsuite name="coleo harness test fake" tests="3" failures="1" skipped="1">`,
		`<testcase classname="fake" name="good" time="1.5">`,
		`<system-out>it went well</system-out>`,
		`<failure message="it went wrong">it went wrong</failure>`,
		`<skipped message="Skipped: not for it"></skipped>`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is missing in\n%s", want, raw)
		}
	}
}
