package brain

import (
	"testing"
	"time"

	"coleo.dev/timelimit"
	"coleo.dev/workspace/script"
)

// TestAScriptMayTakeAllOfItsTime checks the time limits of orders that run a project's script. Each
// limit must be longer than the longest time that a user can allow for the script.
func TestAScriptMayTakeAllOfItsTime(t *testing.T) {
	t.Parallel()
	for what, limit := range map[string]time.Duration{
		"a merge": timelimit.MergeOnHost, "a start with a worktree": timelimit.Worktree,
	} {
		if limit <= script.MaxTimeout {
			t.Errorf("%s may take %v, and its script %v", what, limit, script.MaxTimeout)
		}
	}
}
