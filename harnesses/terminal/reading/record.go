package reading

import (
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// recorded is what the agent CLI has written in its own record of the conversation: a
// witness, and the prompts that the agent CLI took.
type recorded struct {
	witness   witness
	prompts   []recordedPrompt // the newest prompts
	tellsEnds bool             // the record has told the end of a turn whose prompt it has told
	expected  bool             // a record is followed, or will be as soon as it is there
}

// recordedPrompt is a prompt that the agent CLI took, or that it has queued until its
// present turn ends.
type recordedPrompt struct {
	text  string // as rules.Hook.Bare returns it
	taken time.Time
}

func newRecorded() recorded {
	return recorded{witness: witness{name: "record"}}
}

// ExpectRecord tells the Reader that entries of a record may come. Each prompt that arrives
// is then named in the record.
func (r *Reader) ExpectRecord() { r.recorded.expected = true }

// AddEntry adds an entry of the agent CLI's own record to the evidence. A turn that has
// a beginning and no end in the record counts as work.
func (r *Reader) AddEntry(e record.Entry, now time.Time) {
	if r.mode.screenOnly {
		return
	}
	at := e.Time
	if at.IsZero() || at.After(now) {
		at = now
	}
	switch e.Kind {
	case record.Ready:
		r.noteReady()
		return
	case record.Prompt, record.Queued:
		r.recorded.prompts = appendBounded(r.recorded.prompts, recordedPrompt{r.hook.spec.Bare(e.Text), at})
	case record.Answer, record.Tool, record.End:
	}
	if e.Kind == record.Queued {
		return // the turn before this prompt goes on
	}
	word, claim := string(e.Kind), coleo.Processing
	switch {
	case e.Kind == record.End:
		word, claim = word+" "+string(e.Ending), ""
	case e.MayEnd:
		claim = ""
	}
	if claim == "" {
		r.recorded.tellsEnds = len(r.recorded.prompts) > 0
		r.closeTurn(at)
	}
	r.recorded.witness.record(word, e.Text, claim, now)
	r.recorded.witness.at = at
	if e.Kind == record.Prompt {
		r.noteTaken(r.hook.spec.Bare(e.Text), at)
		r.tellTurn(e, at, now)
		r.Judge(now) // the turn may end with the next entry
	}
}

// took reports whether the record has the prompt bare with a time not before sent. The
// time sent is cut to milliseconds, because the record's times have that precision.
func (r *recorded) took(bare string, sent time.Time) bool {
	for _, p := range r.prompts {
		if p.text != "" && p.text == bare && !p.taken.Before(sent.Truncate(time.Millisecond)) {
			return true
		}
	}
	return false
}
