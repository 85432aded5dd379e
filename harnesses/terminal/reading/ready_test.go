package reading

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/record"
)

// asked is a question that the agent CLI asks during its start.
const asked = "=====\r\nrm all\r\nRun it?\r\ny/n"

// starting returns a bench, a Reader under test. Its agent CLI gives a sign when its start is over. So far, it
// has only shown its composer for some time.
func starting(t *testing.T, description string) *bench {
	t.Helper()
	b := newBenchOf(t, description)
	b.r.ExpectReady(true)
	return b.shows(casttest.Idle).after(10*time.Second).wants(coleo.Initializing, ruleStarting)
}

const headed = "ready = [{ where = \"screen\", pattern = \"Welcome\" }]\n" + casttest.PlainSpec

// During the start, a composer alone must not count as idle.
func TestIdleAtTheStartNeedsASignThatTheStartIsOver(t *testing.T) {
	t.Parallel()
	record := func(b *bench) { b.enters(record.Entry{Kind: record.Ready, Time: b.now}) }
	header := func(b *bench) { b.shows("\x1b[2J\x1b[HWelcome\r\n> \r\n─────────\x1b[2;3H") }
	for name, c := range map[string]struct {
		described string
		sign      func(*bench)
	}{
		"the record": {casttest.PlainSpec, record},
		"a header":   {headed, header},
		"either":     {headed, record},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := starting(t, c.described)
			c.sign(b)
			b.after(time.Second).wants(coleo.Idle, "composer")
			if why := b.r.Unproven(); why != "" {
				t.Errorf("unproven: %s", why)
			}
		})
	}
}

// A start that copies a conversation needs its own sign, `fork_ready`, that the start is over. No other sign
// may count.
func TestIdleAfterAForkNeedsTheSignOfTheCopy(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, "fork_ready = [{ where = \"screen\", pattern = \"earlier\" }]\n"+headed)
	b.r.ExpectFork(true)
	b.shows("\x1b[2J\x1b[HWelcome\r\n> \r\n─────────\x1b[2;3H").after(10*time.Second).
		wants(coleo.Initializing, ruleStarting)
	b.shows("\x1b[2J\x1b[Hearlier\r\n> \r\n─────────\x1b[2;3H").after(time.Second).wants(coleo.Idle, "composer")
}

// A question that the agent CLI asks during its start must be reported at once. After the answer, the start
// must still count as unfinished.
func TestAQuestionOfTheStartIsReportedBeforeTheStartIsOver(t *testing.T) {
	t.Parallel()
	b := starting(t, casttest.PlainSpec)
	b.shows("\x1b[2J\x1b[H" + asked).after(time.Second)
	if r := b.r.Reading(); r.State != coleo.WaitingApproval || r.Dialog == nil {
		t.Fatalf("it reads %s by %q", r.State, r.Rule)
	}
	b.shows("\x1b[2J\x1b[H"+casttest.Idle).after(time.Second).wants(coleo.Initializing, ruleStarting)
	b.enters(record.Entry{Kind: record.Ready, Time: b.now}).after(time.Second).wants(coleo.Idle, "composer")
}

// If no sign shows that the start is over, the state idle must be marked as unproven after readyAfter. A later
// sign must remove this mark.
func TestAStartWithoutASignEndsUnproven(t *testing.T) {
	t.Parallel()
	b := starting(t, casttest.PlainSpec).after(readyAfter).wants(coleo.Idle, coleo.RuleUnprovenIdle)
	if b.r.Unproven() != neverReady {
		t.Errorf("unproven: %q", b.r.Unproven())
	}
	b.enters(record.Entry{Kind: record.Ready, Time: b.now}).after(time.Second).wants(coleo.Idle, "composer")
	if why := b.r.Unproven(); why != "" {
		t.Errorf("it is still unproven: %s", why)
	}
}

// No sign has shown that the start is over, and somebody sends a prompt nevertheless. The start must then
// count as over.
func TestAPromptEndsTheStart(t *testing.T) {
	t.Parallel()
	b := starting(t, casttest.PlainSpec).after(readyAfter).submits().shows(casttest.Busy).
		wants(coleo.Processing, "busy")
	b.shows("\x1b[2J\x1b[H"+casttest.Idle).after(time.Second).wants(coleo.Idle, "composer")
}

// Gemini CLI may announce that it starts again. Before it exits, it may still finish its first start and draw
// its composer once more. This composer must not count as idle.
func TestAComposerBehindTheAnnouncementOfAnotherStartIsNotIdle(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, headed+`
[[rule]]
name = "restarting"
state = "initializing"
when = [{ where = "bottom 1", pattern = '^It starts again' }]
`)
	b.r.ExpectReady(false)
	b.shows("\x1b[?2004h"+casttest.Idle).wants(coleo.Idle, "composer")
	b.shows("\x1b[2J\x1b[HIt starts again").wants(coleo.Idle, "composer")
	b.shows("\x1b[2J\x1b[HWelcome\r\n> \r\n─────────\x1b[2;3H").after(time.Second)
	b.enters(record.Entry{Kind: record.Ready, Time: b.now}).after(time.Second).wants(coleo.Initializing, ruleStarting)
	b.after(readyAfter).wants(coleo.Idle, coleo.RuleUnprovenIdle)
	b.shows("\x1b[2J\x1b[HIt starts again")
	b.shows(casttest.Idle).after(time.Second).wants(coleo.Initializing, ruleStarting)
	b.shows("\x1b[?2004l"+casttest.Idle).after(time.Second).wants(coleo.Idle, "composer") // drawn by the new process
}
