package reading

import (
	"fmt"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/record"
)

// records passes an entry of the agent CLI's own record to the Reader. A prompt counts as typed by
// a user.
func (b *bench) records(kind record.Kind, text string, ending record.Ending) *bench {
	return b.enters(record.Entry{Kind: kind, Text: text, Ending: ending, ByUser: kind == record.Prompt, Time: b.now})
}

func (b *bench) enters(e record.Entry) *bench {
	b.r.AddEntry(e, b.now)
	b.r.Judge(b.now)
	return b
}

func TestATurnIsWorkFromItsPromptToItsEndInTheRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).wants(coleo.Idle, "composer")
	b.records(record.Prompt, "do it", "").wants(coleo.Processing, "record prompt")
	b.after(lapseAfter*2).wants(coleo.Processing, "record prompt")
	b.records(record.Tool, "Bash", "").wants(coleo.Processing, "record tool")
	b.records(record.Answer, "done", "").wants(coleo.Processing, "record answer")
	b.records(record.End, "done", record.Finished).after(time.Second).wants(coleo.Idle, "composer")
	b.records(record.Prompt, "again", "").records(record.Queued, "later", "").wants(coleo.Processing, "record prompt")
	b.records(record.End, "", record.Interrupted).after(time.Second).wants(coleo.Idle, "composer")
}

// An end in the record must not make an arm idle while the screen shows work.
func TestTheEndOfATurnInTheRecordDoesNotMakeIdle(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Busy).records(record.End, "", record.Finished)
	b.after(time.Minute).wants(coleo.Processing, "busy")
}

// If the record contains the beginning of a turn but no end, the arm must count as working until nothing
// changes for quietAfter. A growing answer is a change, even if the screen looks idle.
func TestATurnWithoutAnEndLapsesOnlyInSilence(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).records(record.Prompt, "do it", "")
	for n := range 10 {
		b.after(quietAfter / 2).shows(fmt.Sprintf("\x1b[H\x1b[2Kword %d\r\n\x1b[2K> \r\n─────────\x1b[2;3H", n))
		b.wants(coleo.Processing, "record prompt")
	}
	b.after(quietAfter+time.Second).wants(coleo.Idle, coleo.RuleUnprovenIdle)
	if notes := b.notesOf(coleo.ChangeLapse); len(notes) != 1 {
		t.Errorf("lapses: %q, want one", notes)
	}
}

// An interrupt must end the turn even if the record contains no end of the turn, because some agent CLIs write
// no such end.
func TestAnInterruptEndsATurnInTheRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).records(record.Prompt, "do it", "").wants(coleo.Processing, "record prompt")
	b.r.LapseClaims()
	b.after(time.Second).wants(coleo.Idle, "composer")
	b.records(record.Prompt, "go on", "").wants(coleo.Processing, "record prompt")
}

// Some records do not mark the end of a turn, so that each answer may be the last of its turn. Such an answer
// must not count as work.
func TestAnAnswerThatMayEndTheTurnClaimsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).records(record.Prompt, "do it", "").wants(coleo.Processing, "record prompt")
	b.enters(record.Entry{Kind: record.Answer, Text: "I will run it", MayEnd: true, Time: b.now})
	b.after(time.Second).wants(coleo.Idle, "composer")
	b.records(record.Tool, "", "").wants(coleo.Processing, "record tool")
}

func TestARecordedPromptIsProven(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle)
	sent := b.now
	b.enters(record.Entry{Kind: record.Prompt, Text: "an older\none", Time: b.now.Add(-time.Second)})
	b.records(record.Prompt, "do  it\nnow", "").records(record.Queued, "and then that", "")
	for text, want := range map[string]bool{"do it now": true, "and then that": true, "do it": false,
		"an older one": false} {
		if got := b.r.PromptReported(text, sent); got != want {
			t.Errorf("the prompt %q is proven: %v, want %v", text, got, want)
		}
	}
}

// A program that never stops writing to its record must still become idle.
func TestNewEntriesPutOffIdleForABoundedTime(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Busy)
	b.wants(coleo.Processing, "busy")
	asked := 0
	b.r.SetEntryCheck(func() bool { asked++; return true })
	b.shows(casttest.Idle).after(time.Second).wants(coleo.Processing, "busy")
	if asked == 0 {
		t.Error("nobody asked for new entries")
	}
	b.after(newsFor).wants(coleo.Idle, "composer")
}
