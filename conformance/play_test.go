package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/mend"
)

// What is played has the states that the model's record and the file system prove, also if
// the harness reads the screen wrongly.
func TestAPlayIsLabelledByTheRecordAndNotByTheScreen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := fakeConfig(t)
	config.Record, config.Prefix = dir, "small-"
	// This rule reads each screen as idle.
	h := fakeHarness(t, "[[rule]]\nname = \"working\"", "[[rule]]\nname = \"always\"\nstate = \"idle\"\n"+
		"when = [{ where = \"screen\", pattern = '(?s).*' }]\n\n[[rule]]\nname = \"working\"").(accounting).Harness
	list, err := Play(t.Context(), h, config)
	if err != nil {
		t.Fatal(err)
	}
	turn := " working changing idle"
	want := map[string]string{
		"small-answers":  "unjudged idle" + turn + turn + turn + " unjudged",
		"small-approves": "unjudged idle working changing waiting_approval" + turn + " working changing waiting_approval" + turn + turn + " unjudged",
		"small-denies": "unjudged idle working changing waiting_approval unjudged idle" + turn +
			" working changing waiting_approval unjudged idle" + turn + " unjudged",
		"small-stops": "unjudged idle working unjudged idle" + turn + " unjudged",
	}
	for _, played := range list {
		states := regexp.MustCompile(`[\d.]+ |,| \*`).ReplaceAllString(played.Label, "")
		if played.Err != nil || strings.TrimSpace(states) != want[played.Name] {
			t.Errorf("%s: %s, %v; want %s", played.Name, played.Label, played.Err, want[played.Name])
		}
		if _, err := os.Stat(filepath.Join(dir, played.Name+castFile)); err != nil {
			t.Error(err)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d sessions were played, want %d", len(list), len(want))
	}
}

// A session that takes no prompt has no state that counts.
func TestAPlayThatIsBrokenOffProvesNothing(t *testing.T) {
	t.Parallel()
	p := &player{}
	p.become(coleo.Idle, time.Now())
	p.forgetUnproven()
	if len(p.states) != 1 || p.states[0].state != mend.Unjudged {
		t.Errorf("the states are %v", p.states)
	}
}
