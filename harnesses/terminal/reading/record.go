package reading

import (
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// lapseOfRecord is how long the screen must show an idle agent CLI, and print nothing,
// before a turn without an end in the record no longer counts as running. Agent CLIs
// write the end of a turn within a second. A turn that was broken off by hand may never
// get one. While a model thinks, some screens show no work for half a minute.
const lapseOfRecord = 60 * time.Second

// recorded is what the agent CLI has written down of the conversation: a witness, and
// the prompts that it took.
type recorded struct {
	witness witness
	prompts []recordedPrompt // the newest ones
}

// recordedPrompt is a prompt that the agent CLI took, or keeps until its turn has ended.
type recordedPrompt struct {
	text  string // as rules.Hook.Bare returns it
	taken time.Time
}

func newRecorded() recorded {
	return recorded{witness: witness{name: "record", lapseAfter: lapseOfRecord}}
}

// AddEntry adds an entry of the agent CLI's own record to the evidence. A turn that has
// begun and not ended there is work.
func (r *Reader) AddEntry(e record.Entry, now time.Time) {
	if r.mode.screenOnly {
		return
	}
	at := e.Time
	if at.IsZero() || at.After(now) {
		at = now
	}
	switch e.Kind {
	case record.Prompt, record.Queued:
		r.recorded.prompts = appendBounded(r.recorded.prompts, recordedPrompt{r.hook.spec.Bare(e.Text), at})
	case record.Answer, record.Tool, record.End:
	}
	if e.Kind == record.Queued {
		return // the turn before it goes on
	}
	word, claim := string(e.Kind), coleo.Processing
	switch {
	case e.Kind == record.End:
		word, claim = word+" "+string(e.Ending), ""
	case e.MayEnd:
		claim = ""
	}
	r.recorded.witness.record(word, e.Text, claim, now)
	r.recorded.witness.at = at
}

// took reports whether the record has a prompt that was sent at some moment. The record's
// times are in milliseconds.
func (r *recorded) took(bare string, sent time.Time) bool {
	for _, p := range r.prompts {
		if p.text != "" && p.text == bare && !p.taken.Before(sent.Truncate(time.Millisecond)) {
			return true
		}
	}
	return false
}
