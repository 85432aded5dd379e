package reading

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// A message about a missing conversation must count only if the agent CLI ends during its start. Later, the
// same words can be a part of a conversation.
func TestAMissingConversationIsReportedOnlyAtTheStart(t *testing.T) {
	t.Parallel()
	const described = "launch.no_conversation = '(?m)^No conversation found: '\n" + casttest.PlainSpec
	for name, c := range map[string]struct {
		before, last, rule string
	}{
		"it ends at its start with these words":    {"", "No conversation found: 17\r\n", coleo.RuleNoConversation},
		"it ends at its start with other words":    {"", "No network\r\n", coleo.RuleProcess},
		"it ends behind a turn with these words":   {casttest.Idle, "No conversation found: 17\r\n", coleo.RuleProcess},
		"it ends at its start without any words":   {"", "", coleo.RuleProcess},
		"it ends with these words within a line":   {"", "He said: No conversation found: 17\r\n", coleo.RuleProcess},
		"it ends with a line above and below them": {"", "a\r\nNo conversation found: 17\r\nb\r\n", coleo.RuleNoConversation},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBenchOf(t, described)
			if c.before != "" {
				b.shows(c.before)
			}
			b.shows(c.last)
			b.r.Ended(b.now, coleo.RuleProcess, 1, "exit 1")
			if got := b.r.Reading(); got.State != coleo.Dead || got.Rule != c.rule {
				t.Errorf("Reading = %s (rule %q), want dead (rule %q)", got.State, got.Rule, c.rule)
			}
		})
	}
}

// The last picture of an ended agent CLI stays on the screen. Whatever it shows, the agent CLI stays dead.
func TestAnEndedAgentCLIStaysDead(t *testing.T) {
	t.Parallel()
	for _, picture := range []string{casttest.Idle, casttest.Busy, casttest.Asks, casttest.Idle + casttest.WorkClaim} {
		b := newBench(t).shows(picture)
		b.r.Ended(b.now, coleo.RuleProcess, 1, "exit 1")
		told := len(b.changes)
		b.after(time.Hour).wants(coleo.Dead, coleo.RuleProcess)
		if len(b.changes) > told {
			t.Errorf("%q: after its end, it tells %+v", picture, b.changes[told:])
		}
	}
}
