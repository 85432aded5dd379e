package armfolder

import (
	"errors"
	"os"
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

// A kill of the host or a full disk can cut off a line. ReadPast must still return the prompts of
// the other lines.
func TestALineThatIsCutOffHarmsNoOther(t *testing.T) {
	t.Parallel()
	f := Folder(t.TempDir())
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(f.NotePast("one", PastPrompt{Step: coleo.QueueAdded, Time: now}))
	file, err := os.OpenFile(f.File(newPastFile), os.O_WRONLY|os.O_APPEND, 0)
	check(err)
	_, err = file.WriteString(`{"id":"cut","ti`)
	check(errors.Join(err, file.Close()))
	check(f.NotePast("one", PastPrompt{Time: now}))
	check(f.NotePast("two", PastPrompt{Time: now}))
	for range 2 {
		got, err := f.ReadPast()
		check(err)
		if _, two := got["two"]; !two || len(got) != 2 || got["one"].Step != "" {
			t.Errorf("ReadPast = %v, want the prompts one, with a run, and two", got)
		}
		check(f.AddPast(nil, now)) // moves the lines to the other file
	}
	if lines, err := os.ReadFile(f.File(newPastFile)); err == nil {
		t.Errorf("the lines are kept twice: %s", lines)
	}
}
