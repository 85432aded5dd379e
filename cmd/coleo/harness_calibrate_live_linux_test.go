package main

import (
	"strings"
	"testing"
)

// TestSessionsOfARealAgentCLIArePlayedAndCalibrated: the rules must read each recorded session as
// its label states. The labels come from the model server's record and the agent CLI's files.
func TestSessionsOfARealAgentCLIArePlayedAndCalibrated(t *testing.T) {
	t.Parallel()
	needClaude(t)
	w := newWorld(t, "")
	out := w.must("harness", "calibrate", "claude-code", "--record", w.path("played"), "--sizes", "80x24", "--time", "1s")
	if !strings.Contains(out, "The readings of 4 of 4 recordings match the labels") {
		t.Errorf("calibrate printed\n%s", out)
	}
}
