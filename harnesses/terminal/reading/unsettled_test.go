package reading

import (
	"slices"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/record"
)

// unsettled submits a prompt. A dialog opens at the same time, so that nobody can see whether the prompt
// arrived.
func (b *bench) unsettled() *bench {
	b.now = b.now.Add(time.Second)
	b.r.Submitted(Submission{Text: "now", Time: b.now}, b.now)
	b.shows(casttest.Asks)
	b.r.PromptUnsettled(0)
	b.r.PromptDecided()
	b.changes = nil
	return b
}

// A dialog has hidden whether a prompt arrived. When the dialog is gone, the Reader must report what became of
// the prompt, before it reports idle.
func TestAPromptThatADialogHidIsSettled(t *testing.T) {
	t.Parallel()
	const holds = "\x1b[2J\x1b[H> now\r\n───────\x1b[H"
	for name, tt := range map[string]struct {
		after func(*bench)
		want  []string
	}{
		"its text stands in the composer": {func(b *bench) { b.shows(holds) }, []string{"prompt ", "state idle"}},
		"nothing is seen of it":           {func(b *bench) { b.shows(casttest.Idle) }, []string{"prompt ", "state idle"}},
		"the record names it late": {func(b *bench) {
			b.shows(casttest.Idle).after(proofAfter-time.Second).records(record.Prompt, "now", "").records(record.End, "",
				record.Finished)
		}, []string{"turn late", "state processing", "state idle"}},
		"the record names it": {func(b *bench) {
			b.shows(casttest.Busy).records(record.Prompt, "now", "").records(record.End, "",
				record.Finished).shows(casttest.Idle)
		}, []string{"state processing", "turn late", "state idle"}},
		"the hook names it": {func(b *bench) {
			b.shows(casttest.Busy).reports(`{"event":"Prompt","prompt":"now"}`).reports(`{"event":"Stop"}`).shows(casttest.Idle)
		}, []string{"state processing", "turn late", "state idle"}},
		"another prompt comes first": {func(b *bench) {
			b.shows(casttest.Busy)
			b.r.Submitted(Submission{Text: "next", Time: b.now}, b.now)
		}, []string{"state processing", "prompt "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t).shows(casttest.Idle).after(time.Second).unsettled()
			tt.after(b)
			b.after(proofAfter)
			var got []string
			for _, c := range b.changes {
				switch c.Kind {
				case coleo.ChangeState:
					got = append(got, "state "+string(c.Reading.State))
				case coleo.ChangeTurn, coleo.ChangePrompt:
					got = append(got, string(c.Kind)+" "+string(c.Origin))
				}
			}
			if got = slices.Compact(got); !slices.Equal(got, tt.want) {
				t.Errorf("told %q, want %q", got, tt.want)
			}
		})
	}
}
