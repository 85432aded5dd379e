package brain

import (
	"testing"
	"time"

	"coleo.dev/bus"
	"coleo.dev/workspace/script"
)

// TestAScriptMayTakeAllOfItsTime: nobody stops waiting for an order that runs a project's script
// before the script has had the longest time that a user can give it.
func TestAScriptMayTakeAllOfItsTime(t *testing.T) {
	t.Parallel()
	for what, limit := range map[string]time.Duration{
		"a merge": bus.MergeTime, "a start with a worktree": WorktreeTime,
	} {
		if limit <= script.MaxTimeout {
			t.Errorf("%s may take %v, and its script %v", what, limit, script.MaxTimeout)
		}
	}
}
