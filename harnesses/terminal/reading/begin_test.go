package reading

import (
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/record"
)

// After a submit, the state must not become idle while the composer still contains the prompt and no work on
// the prompt was seen.
func TestIdleBehindASubmitWaitsForWork(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1, 0)
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	idle := coleo.Reading{State: coleo.Idle, Rule: "composer"}
	sent := func() *Reader {
		spec := *specFor(t, "opencode-1.18.33")
		spec.Timing = rules.Timing{Settle: 600, Begin: 10_000}
		r := New(&spec, 80, 24, begin, func(coleo.Change) {})
		r.reading.State, r.prompt.sentAt = coleo.Processing, begin
		return r
	}
	r := sent()
	for _, d := range []time.Duration{0, 700 * time.Millisecond, 9 * time.Second} {
		if r.acceptWhenSettled(at(d), idle); r.reading.State != coleo.Processing {
			t.Fatalf("%s behind the submit it reads %s", d, r.reading.State)
		}
	}
	r.acceptWhenSettled(at(10*time.Second), idle)
	if r.acceptWhenSettled(at(11*time.Second), idle); r.reading.State != coleo.Idle {
		t.Errorf("without any work it reads %s for ever", r.reading.State)
	}
	r = sent()
	r.noteWork()
	r.acceptWhenSettled(at(time.Second), idle)
	if r.acceptWhenSettled(at(1700*time.Millisecond), idle); r.reading.State != coleo.Idle {
		t.Errorf("behind work it reads %s", r.reading.State)
	}
	r = sent()
	r.acceptWhenSettled(at(time.Second), coleo.Reading{State: coleo.Failed})
	r.acceptWhenSettled(at(1700*time.Millisecond), coleo.Reading{State: coleo.Failed})
	if r.reading.State != coleo.Failed {
		t.Errorf("an error waits for work: it reads %s", r.reading.State)
	}
}

// Gemini CLI 0.61.0 empties its composer a second before it shows the new prompt and its work.
// Meanwhile, the screen still shows the error of the turn before. This error must not end the new
// turn.
func TestTheErrorOfAnEarlierTurnDoesNotEndTheNextOne(t *testing.T) {
	t.Parallel()
	description := strings.Replace(casttest.PlainSpec, "[[rule]]\n",
		"[[rule]]\nname = \"failed\"\nstate = \"error\"\nwhen = [{ where = \"bottom 1\", pattern = '^✗ (?P<detail>.*)' }]\n"+
			"[[rule]]\n", 1)
	fails := func(why string) string { return casttest.Idle + "\x1b[3;1H✗ " + why + "\x1b[1;3H" }
	sent := func() *bench {
		b := newBenchOf(t, description).shows(fails("cut")).after(time.Second).wants(coleo.Failed, "failed")
		b.r.ExpectRecord()
		b.r.Submitted(Submission{Text: "now", Time: b.now}, b.now)
		b.r.PromptDecided()
		return b.after(2*time.Second).wants(coleo.Processing, "submitted")
	}
	sent().after(beginAfter).wants(coleo.Failed, "failed")
	sent().shows(fails("again")).after(time.Second).wants(coleo.Failed, "failed")
	sent().shows(casttest.Busy).wants(coleo.Processing, "busy").shows(fails("cut")).after(time.Second).
		wants(coleo.Failed, "failed")
	sent().records(record.Prompt, "now", "").records(record.End, "", record.Finished).after(time.Second).
		wants(coleo.Failed, "failed")
}
