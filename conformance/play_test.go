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

// A play is a session that is recorded and labelled with its states. The label must contain the states that
// the model's record and the file system prove, even if the harness reads the screen wrongly.
func TestAPlayIsLabelledByTheRecordAndNotByTheScreen(t *testing.T) {
	t.Parallel()
	config := fakeConfig(t)
	config.Record, config.Prefix = t.TempDir(), "small-"
	// This rule reads each screen as idle.
	h := fakeHarness(t, "[[rule]]\nname = \"working\"", "[[rule]]\nname = \"always\"\nstate = \"idle\"\n"+
		"when = [{ where = \"screen\", pattern = '(?s).*' }]\n\n[[rule]]\nname = \"working\"").(accounting).Harness
	turn := " working changing idle"
	want := map[string]string{
		"answers": "unjudged idle" + turn + turn + turn + " unjudged",
		"approves": "unjudged idle working changing waiting_approval" + turn + " working changing waiting_approval" + turn +
			turn + " unjudged",
		"denies": "unjudged idle working changing waiting_approval unjudged idle" + turn +
			" working changing waiting_approval unjudged idle" + turn + " unjudged",
		"stops": "unjudged idle working unjudged idle" + turn + " unjudged",
	}
	for _, play := range plays {
		// The plays run at the same time, because they mostly wait.
		t.Run(play.name, func(t *testing.T) {
			t.Parallel()
			played, err := playOne(t.Context(), h, config, play.name, play.run)
			if err != nil {
				t.Fatal(err)
			}
			states := regexp.MustCompile(`[\d.]+ |,| \*`).ReplaceAllString(played.Label, "")
			if played.Err != nil || strings.TrimSpace(states) != want[play.name] {
				t.Errorf("%s, %v; want %s", played.Label, played.Err, want[play.name])
			}
			if _, err := os.Stat(filepath.Join(config.Record, "small-"+play.name+castFile)); err != nil {
				t.Error(err)
			}
		})
	}
	if len(plays) != len(want) {
		t.Errorf("there are %d plays, want %d", len(plays), len(want))
	}
}

// If a session accepts no prompt, nothing proves its states. The label must then call them unjudged.
func TestAPlayThatIsBrokenOffProvesNothing(t *testing.T) {
	t.Parallel()
	p := &player{}
	p.recordState(coleo.Idle, time.Now())
	p.forgetUnproven()
	if len(p.states) != 1 || p.states[0].state != mend.Unjudged {
		t.Errorf("the states are %v", p.states)
	}
}
