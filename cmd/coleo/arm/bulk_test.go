package arm

import "testing"

func TestARowOfATableSeparatesTheLinesOfAResult(t *testing.T) {
	t.Parallel()
	if got := oneRow("Recovered arm: one\nMode:   restarted\n"); got != "Recovered arm: one; Mode: restarted" {
		t.Errorf("the row is %q", got)
	}
}
