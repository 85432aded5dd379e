package reading

import (
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// recordEvidence is the evidence from the agent CLI's own record of the conversation: the state that the
// record claims, and the prompts that the agent CLI took.
type recordEvidence struct {
	witness   witness
	prompts   []recordedPrompt // the newest prompts
	showsEnds bool             // the record has shown a prompt and the end of its turn at least once
	turn      string           // the agent CLI's id of the newest prompt's turn
	bySelf    bool             // the agent CLI itself has written the newest prompt
	ended     coleo.State      // how the newest turn has ended: idle or error; "" if it has not
	expected  bool             // there is a record, or will be one
	holds     bool             // entries are held back, because a submit key is being pressed
	held      []record.Entry   // the entries that are held back
	compacted time.Time        // when the agent CLI last shortened the conversation on the user's order
}

// recordedPrompt is a prompt in the agent CLI's record. The agent CLI has begun the turn of this prompt, or
// has put the prompt into its own queue.
type recordedPrompt struct {
	text  string // the prompt's text, as rules.Hook.Bare returns it
	taken time.Time
}

func newRecorded() recordEvidence {
	return recordEvidence{witness: witness{name: "record"}}
}

// ExpectRecord informs the Reader that the agent CLI has a record. Such a record names each prompt that
// arrives.
func (r *Reader) ExpectRecord() { r.recorded.expected = true }

// AddEntry adds an entry of the agent CLI's own record to the evidence. While the newest turn has no end in
// the record, the record claims work.
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
		return // the running turn continues, because this prompt is only queued
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
		r.hook.nameTurn(e.Turn, r.hook.spec.Bare(e.Text))
		if e.ByUser && !at.Before(r.turn.submitted.Time.Truncate(time.Millisecond)) {
			r.turn.waits = false // the record contains the newest prompt, perhaps reworded by the agent CLI
		}
		r.noteTaken(r.hook.spec.Bare(e.Text), at)
		r.emitTurn(e, ended, at, now)
		if !at.Before(r.began) { // a turn from before the Reader needs no reading, because it may have ended long ago
			r.Judge(now) // report the work of this turn now, because the next entry may end the turn
		}
	}
}

// noteEnd records that the newest turn has ended.
func (r *recordEvidence) noteEnd(e record.Entry) {
	if r.ended = coleo.Idle; e.Ending == record.Failed {
		r.ended = coleo.Failed
	}
}

// endedBefore returns how the turn before the prompt `e` ended: with idle or error. It returns "" if the
// record has not shown that end, or if `e` itself belongs to the newest turn in the record.
func (r *recordEvidence) endedBefore(e record.Entry) coleo.State {
	if e.Turn != "" && e.Turn == r.turn {
		return ""
	}
	return r.ended
}

// waitsBehindSelf reports whether the newest prompt waits while the agent CLI works in a turn that it has
// begun by itself. The end of this running turn is then not the end of the prompt's turn.
func (r *Reader) waitsBehindSelf() bool { return r.recorded.bySelf && r.turn.waits }

// HoldEntries makes the Reader hold back new entries of the record until Submitted or ReleaseEntries is
// called. The caller calls HoldEntries, presses the submit key, and then calls Submitted. The agent CLI can
// take the prompt, and even end the turn, before the call of Submitted. If the Reader added these entries
// at once, it would take the prompt for one that was typed by hand. And the turn that Submitted begins
// would never end.
func (r *Reader) HoldEntries() { r.recorded.holds = true }

// HoldsEntries reports whether the Reader holds back new entries of the record; see HoldEntries.
func (r *Reader) HoldsEntries() bool { return r.recorded.holds }

// ReleaseEntries adds the entries that were held back since HoldEntries.
func (r *Reader) ReleaseEntries(now time.Time) { r.addEntries(r.releaseUpTo("", now), now) }

// releaseUpTo ends the holding of entries that HoldEntries began. It adds the held entries that come before
// the given prompt, and returns the others: the entry that names the prompt, and all later ones. If no
// entry names the prompt, it adds all entries.
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

// confirmsPrompt reports whether the record contains the prompt `bareText`, taken at the time `sentAt` or
// later. It compares whole milliseconds, because the times in the record are no more precise.
func (r *recordEvidence) confirmsPrompt(bareText string, sentAt time.Time) bool {
	for _, p := range r.prompts {
		if p.text != "" && p.text == bareText && !p.taken.Before(sentAt.Truncate(time.Millisecond)) {
			return true
		}
	}
	return false
}

// CompactionReported reports whether the record shows that the conversation was shortened at the given time
// or later. Only a compaction that the user has ordered counts.
func (r *Reader) CompactionReported(since time.Time) bool {
	at := r.recorded.compacted
	return !at.IsZero() && !at.Before(since.Truncate(time.Millisecond))
}

// newsFor is how long the states idle and error may wait for entries of the record that the Reader has not
// received yet. An agent CLI writes the last entries of a turn within milliseconds. The wait is limited,
// because otherwise the arm of a program that never stops writing would never be idle.
const newsFor = 2 * time.Second

// news stores whether the caller has entries for the Reader that the Reader has not received yet.
type news struct {
	// reports whether the caller has such entries; nil if there is no record
	come  func() bool
	since time.Time // since when entries that are still to come delay idle or error; zero if none do
}

// SetEntryCheck gives the Reader a function that reports whether the caller has new entries for AddEntry.
// The Reader calls this function before it emits the state idle or error. If there are new entries, it
// waits for the next look. Therefore the work of a turn is known before its end.
func (r *Reader) SetEntryCheck(come func() bool) { r.news.come = come }

// hasNews reports whether idle or error must wait for new entries.
func (r *Reader) hasNews(now time.Time) bool {
	if r.news.since.IsZero() {
		r.news.since = now
	}
	return r.news.come != nil && now.Sub(r.news.since) < newsFor && r.news.come()
}
