package reading

import (
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// recorded is the evidence from the agent CLI's own record of the conversation: a witness, and the
// prompts that the agent CLI took.
type recorded struct {
	witness   witness
	prompts   []recordedPrompt // the newest prompts
	showsEnds bool             // the record has shown a prompt and the end of its turn
	turn      string           // the agent CLI's id of the newest prompt's turn
	bySelf    bool             // the newest prompt is one that the agent CLI has given itself
	ended     coleo.State      // the state in which the newest turn has ended: idle or error; "" if no end has come
	expected  bool             // the Reader gets the entries of a record, or will get them once the record exists
	holds     bool             // a submit key is being pressed, and Submitted has not been called yet
	held      []record.Entry   // what has come since then
	compacted time.Time        // when the agent CLI has last shortened the conversation by order of its user
}

// recordedPrompt is a prompt in the agent CLI's record. The agent CLI has begun its turn, or keeps
// the prompt in its own queue.
type recordedPrompt struct {
	text  string // as rules.Hook.Bare returns it
	taken time.Time
}

func newRecorded() recorded {
	return recorded{witness: witness{name: "record"}}
}

// ExpectRecord notes that the agent CLI has a record, so that entries can come. The record names
// each prompt that arrives.
func (r *Reader) ExpectRecord() { r.recorded.expected = true }

// AddEntry adds an entry of the agent CLI's own record to the evidence. A turn that has
// a beginning and no end in the record counts as work.
func (r *Reader) AddEntry(e record.Entry, now time.Time) {
	if r.mode.screenOnly {
		return
	}
	if r.recorded.holds {
		r.recorded.held = append(r.recorded.held, e)
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
	case record.Detail:
		if c, ok := e.Work.(coleo.Compaction); ok && !c.Automatic {
			r.recorded.compacted = at
		}
		return
	case record.Prompt, record.Queued:
		r.recorded.prompts = appendBounded(r.recorded.prompts, recordedPrompt{r.hook.spec.Bare(e.Text), at})
	case record.Answer, record.Tool, record.End:
	}
	if e.Kind == record.Queued {
		return // the running turn continues, and this prompt waits
	}
	ended := r.recorded.endedBefore(e)
	word, claim := string(e.Kind), coleo.Processing
	switch {
	case e.Kind == record.End:
		word, claim = word+" "+string(e.Ending), ""
	case e.MayEnd:
		claim = ""
	}
	if claim == "" {
		r.recorded.showsEnds = len(r.recorded.prompts) > 0
		if r.recorded.noteEnd(e); !r.waitsBehindSelf() {
			r.closeReported(at)
		}
	} else {
		r.turn.endReported, r.recorded.ended = false, ""
	}
	r.recorded.witness.record(word, e.Text, claim, now)
	r.recorded.witness.at = at
	if e.Kind == record.Prompt {
		r.recorded.turn, r.recorded.bySelf = e.Turn, !e.ByUser
		if e.ByUser && !at.Before(r.turn.submitted.Time.Truncate(time.Millisecond)) {
			r.turn.waits = false // agent CLIs may change the text of a prompt
		}
		r.noteTaken(r.hook.spec.Bare(e.Text), at)
		r.emitTurn(e, ended, at, now)
		if !at.Before(r.began) { // an older turn may have ended long ago
			r.Judge(now) // must come before the next entry, which may end the turn
		}
	}
}

// noteEnd notes that the newest turn has ended.
func (r *recorded) noteEnd(e record.Entry) {
	if r.ended = coleo.Idle; e.Ending == record.Failed {
		r.ended = coleo.Failed
	}
}

// endedBefore returns the state in which the turn before the prompt e has ended. It returns "" if the
// record has not shown that end, or if e belongs to the same turn.
func (r *recorded) endedBefore(e record.Entry) coleo.State {
	if e.Turn != "" && e.Turn == r.turn {
		return ""
	}
	return r.ended
}

// waitsBehindSelf reports whether the agent CLI works in a turn that it has begun by itself, while
// the newest prompt still waits. The end of that turn is not the end of the newest prompt's turn.
func (r *Reader) waitsBehindSelf() bool { return r.recorded.bySelf && r.turn.waits }

// HoldEntries makes the Reader keep new entries of the record until Submitted or ReleaseEntries is
// called. The caller presses the submit key first and calls Submitted afterwards. Between the two,
// an agent CLI can already take the prompt and end the turn. If the Reader added the entries of
// that turn before Submitted is called, the prompt would count as typed by hand. The turn would
// then never end.
func (r *Reader) HoldEntries() { r.recorded.holds = true }

// HoldsEntries reports whether the Reader keeps new entries of the record; see HoldEntries.
func (r *Reader) HoldsEntries() bool { return r.recorded.holds }

// ReleaseEntries adds the entries that have come since HoldEntries.
func (r *Reader) ReleaseEntries(now time.Time) { r.addEntries(r.releaseUpTo("", now), now) }

// releaseUpTo ends the holding that HoldEntries began. It looks for the held entry that names the
// given prompt. It adds the entries before that entry. It returns that entry and the entries after
// it. If no entry names the prompt, releaseUpTo adds all entries.
func (r *Reader) releaseUpTo(bare string, now time.Time) (own []record.Entry) {
	held := r.recorded.held
	r.recorded.holds, r.recorded.held = false, nil
	for i, e := range held {
		if (e.Kind == record.Prompt || e.Kind == record.Queued) && r.hook.spec.Bare(e.Text) == bare {
			return held[i:]
		}
		r.AddEntry(e, now)
	}
	return nil
}

func (r *Reader) addEntries(list []record.Entry, now time.Time) {
	for _, e := range list {
		r.AddEntry(e, now)
	}
}

// confirmsPrompt reports whether the record contains a prompt with the given bare text that was
// sent at the given time or later. It compares whole milliseconds, because the times in the record
// have that precision.
func (r *recorded) confirmsPrompt(bareText string, sentAt time.Time) bool {
	for _, p := range r.prompts {
		if p.text != "" && p.text == bareText && !p.taken.Before(sentAt.Truncate(time.Millisecond)) {
			return true
		}
	}
	return false
}

// CompactionReported reports whether the record shows that the agent CLI has shortened the conversation at
// the given time or later, because its user has ordered that.
func (r *Reader) CompactionReported(since time.Time) bool {
	at := r.recorded.compacted
	return !at.IsZero() && !at.Before(since.Truncate(time.Millisecond))
}

// newsFor is how long new entries can delay the report that the agent CLI is idle or has failed. An
// agent CLI writes its last entries within milliseconds. Without this limit, a program that never
// stops writing would never be idle.
const newsFor = 2 * time.Second

// news describes the last check for entries that have come but that the Reader has not yet
// received.
type news struct {
	come  func() bool // reports whether such entries have come; nil: none can come
	since time.Time   // since when they put off idle or error; zero: they do not
}

// SetEntryCheck gives the Reader a function that reports whether the caller has new entries for
// AddEntry. The Reader calls this function before it emits that the agent CLI is idle or has
// failed. If there are new entries, the Reader decides again at the next look. So the work of a
// turn is known before the end of the turn.
func (r *Reader) SetEntryCheck(come func() bool) { r.news.come = come }

// hasNews reports whether idle or error must wait, because entries have come.
func (r *Reader) hasNews(now time.Time) bool {
	if r.news.since.IsZero() {
		r.news.since = now
	}
	return r.news.come != nil && now.Sub(r.news.since) < newsFor && r.news.come()
}
