package registry

import (
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/loop"
	"coleo.dev/record/databasetest"
)

// The loop breaker stops a turn that repeats itself. It must stop no turn of any recording.
func TestNoRecordingGoesInCircles(t *testing.T) {
	t.Parallel()
	runs, calls := 0, 0
	for _, b := range builtins() {
		if recordings[b.name] == "" {
			continue
		}
		more, err := filepath.Glob("../harnesses/" + filepath.Dir(recordings[b.name]) + "/record-*.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range append(recordingsOf(t, b.name), more...) {
			var s loop.State
			for _, a := range databasetest.WorkIn(t, b.hooks.Record, path) {
				switch a.Work.(type) {
				case coleo.Prompted:
					s, runs = loop.State{}, runs+1
				case coleo.ToolEnd:
					calls++
				}
				var why string
				if s, why = s.Next(a.Work, 0); why != "" {
					t.Errorf("%s: %s", path, why)
				}
			}
		}
	}
	if runs < 50 || calls < 50 {
		t.Errorf("only %d runs with %d calls were judged", runs, calls)
	}
	t.Logf("%d runs with %d calls were judged", runs, calls)
}
