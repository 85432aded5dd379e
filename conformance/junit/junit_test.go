package junit

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAReportIsWrittenAsJUnit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.xml")
	report := Suite{Name: "a suite", Class: "fake", Cases: []Case{
		{Name: "good", Pass: true, Details: "it went well", Seconds: 1.5},
		{Name: "bad", Details: "it went wrong: <that>\nscreen:\x1b[2J"},
		{Name: "left", Pass: true, Skipped: true, Details: "Skipped: not for it"},
	}}
	if err := Write(path, report); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got suite
	if err := xml.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	if got.Tests != 3 || got.Failures != 1 || got.Skipped != 1 || len(got.Cases) != 3 || got.Name != "a suite" {
		t.Errorf("suite = %+v", got)
	}
	bad := got.Cases[1]
	if bad.Failure == nil || bad.Failure.Message != "it went wrong: <that>" ||
		!strings.Contains(bad.Failure.Text, "screen:") || got.Cases[0].Failure != nil || bad.Class != "fake" {
		t.Errorf("cases = %+v", got.Cases)
	}
	if err := Write(filepath.Join(path, "nowhere"), report); err == nil {
		t.Error("a report was written where none can be")
	}
}
