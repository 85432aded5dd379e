package main

import (
	"strings"
	"testing"
)

// TestSessionsOfARealAgentCLIArePlayedAndCalibrated: each session that the verb plays reads as the
// model server's record and the files say.
func TestSessionsOfARealAgentCLIArePlayedAndCalibrated(t *testing.T) {
	t.Parallel()
	needClaude(t)
	w := newWorld(t, "")
	out := w.must("harness", "calibrate", "claude-code", "--record", w.path("played"), "--sizes", "80x24", "--time", "1s")
	if !strings.Contains(out, "4 of 4 recordings read as labelled") {
		t.Errorf("calibrate printed\n%s", out)
	}
}
