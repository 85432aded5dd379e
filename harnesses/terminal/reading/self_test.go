package reading

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// prompted passes a prompt of the agent CLI's own record to the Reader. If `byUser` is false, the agent CLI
// itself wrote the prompt.
func (b *bench) prompted(turn, text string, byUser bool) *bench {
	return b.enters(record.Entry{Kind: record.Prompt, Turn: turn, Text: text, ByUser: byUser, Time: b.now})
}

// An agent CLI may write itself a prompt, such as "a task has ended". If the record shows that the previous
// turn has ended, this prompt begins a new turn, which must report how the previous one ended. If the prompt
// may belong to the running turn, it must report no end. There are two such cases:
//   - the record contains no end of the previous turn;
//   - the prompt has the id of the running turn.
func TestATurnThatBeginsByItselfReportsHowTheTurnBeforeEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  record.Ending // how the turn before ended; "" if it did not
		turn string
		want coleo.State
	}{
		"after the end":             {record.Finished, "2", coleo.Idle},
		"after an interrupt":        {record.Interrupted, "2", coleo.Idle},
		"after an error":            {record.Failed, "2", coleo.Failed},
		"without an end":            {"", "2", ""},
		"in the turn that it names": {record.Finished, "1", ""},
	} {
		b := proven(t).submits().prompted("1", "now", true)
		b.records(record.Answer, "so far", "")
		if c.end != "" {
			b.records(record.End, "", c.end)
		}
		b.prompted(c.turn, "a task has ended", false)
		var got []coleo.Change
		for _, change := range b.changes {
			if change.Kind == coleo.ChangeTurn && change.Origin == coleo.OriginSelf {
				got = append(got, change)
			}
		}
		if len(got) != 1 || got[0].Ended != c.want || got[0].Note != "a task has ended" {
			t.Errorf("%s: the turns are %+v, want one after %q", name, got, c.want)
		}
	}
}

// Just after Coleo submits a prompt, the agent CLI may begin a turn by itself. The submitted prompt then waits
// in the agent CLI's queue. The record and the hook report the end of the agent CLI's own turn. This end must
// not count as the end of the submitted prompt's turn.
func TestTheEndOfATurnThatBeganByItselfIsNotTheEndOfAWaitingPrompt(t *testing.T) {
	t.Parallel()
	b := proven(t).submits()
	b.prompted("2", "a task has ended", false)
	b.reports(`{"event":"Prompt","turn":"2","prompt":"a task has ended"}`)
	b.records(record.Answer, "read", "").records(record.End, "", record.Finished)
	b.reports(`{"event":"Stop","turn":"2","answer":"read"}`)
	b.after(10*time.Second).wants(coleo.Processing, "hook Prompt")
	b.prompted("3", "now", true).records(record.Answer, "done", "").records(record.End, "", record.Finished)
	b.after(time.Second).wants(coleo.Idle, "composer")
	// The next turn that begins by itself ends as usual, because no prompt waits.
	b.prompted("4", "another task has ended", false).wants(coleo.Processing, "record prompt")
	b.records(record.End, "", record.Finished).after(time.Second).wants(coleo.Idle, "composer")
}
