package armfolder

import (
	"testing"
	"time"

	"coleo.dev"
)

func TestPastPromptsAreKeptForATime(t *testing.T) {
	t.Parallel()
	f := Folder(t.TempDir())
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.AddPast(Past{"old": {Time: now.Add(-2 * time.Hour)},
		"removed": {Step: coleo.QueueRemoved, Time: now}}, now.Add(-3*time.Hour)))
	must(f.AddPast(Past{"new": {Time: now}}, now.Add(-time.Hour)))
	got, err := f.ReadPast()
	must(err)
	if _, found := got["old"]; found || len(got) != 2 || got["removed"].Step != coleo.QueueRemoved {
		t.Errorf("ReadPast = %v, want the prompts new and removed", got)
	}
}
